import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("hr");

/** Croatian texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Uređeni odgovor",
    note: "Sljedeća se poruka nadovezuje na vaš tekst. Izvornik se čuva kao verzija.",
  },

  rating: {
    field: "Što nije bilo u redu?",
    note: "Neobavezno. Povratne informacije spremaju se uz odgovor.",
  },

  compare: {
    title: "Usporedba odgovora",
    note: "Svi se odgovori pišu istodobno. I uz iste postavke mogu se razlikovati, osim ako je postavljen seed.",
    kept: "Svaki odgovor ostaje u razgovoru kao verzija.",
    column: (index) => `Odgovor ${index}`,
    temperature: (value) => `Temperatura ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Seed ${value}`,
    add: "Dodaj odgovor",
    remove: (index) => `Ukloni odgovor ${index}`,
    start: "Usporedi",
    keep: "Zadrži ovaj",
    merge: "Spoji u jedan odgovor",
    stop: (index) => `Zaustavi odgovor ${index}`,
    stopAll: "Zaustavi sve",
  },

  prompts: {
    title: "Spremljeni promptovi",
    search: "Pronađi prompt",
    none: "Nema pronađenih promptova.",
    empty: "Još nema spremljenih promptova. Spremite tekst kojim često započinjete poruke: „/” u praznoj poruci tada ga prikazuje ovdje.",
    add: "Novi prompt",
    edit: (name) => `Uredi „${name}”`,
    name: "Naziv prompta",
    text: "Tekst",
    placeholders: "Rezervirana mjesta u dvostrukim vitičastim zagradama, primjerice {{grad}}, označuju se kako biste ih ispunili.",
    remove: "Izbriši prompt",
  },

  files: {
    search: "Pronađi datoteku",
    none: "Nema pronađenih datoteka. Kad prilažete datoteku, spremite je ikonom knjižne oznake na njoj.",
    size: (characters) => `znakova: ${characters}`,
    remove: (name) => `Izbriši ${name}`,
    delete: "Izbriši",
    confirm: "Izbrisati ovu datoteku iz vaših datoteka? Razgovori koji je sadrže ostaju kakvi jesu.",
  },

  find: {
    title: "Pronađi u ovom razgovoru",
    next: "Sljedeći pogodak",
    previous: "Prethodni pogodak",
    at: (at, total) => `${at} od ${total}`,
    none: "Nije pronađeno",
  },

  queue: {
    title: "Poruka u redu čekanja",
    waiting: "U redu čekanja. Šalje se kad odgovor bude gotov.",
    now: "Pošalji sada",
    nowTitle: "Zaustavlja odgovor i zadržava njegov tekst",
    held: "Još nije poslano: odgovor je zaustavljen ili je završio dok vas nije bilo.",
    files: (count) => plural(count, { one: `${count} datoteka`, few: `${count} datoteke`, other: `${count} datoteka` }),
  },

  reading: {
    progress: (done, total) => `Čitanje razgovora: ${done} od ${total} tokena`,
    left: (time) => `preostaje otprilike ${time}`,
  },

  regenerate: {
    title: "Ponovno generiraj uz druge postavke",
    note: "Ove postavke vrijede samo za ovaj odgovor. Za prazno polje uzorkovanja vrijedi postavka razgovora, a ako je sistemski prompt prazan, odgovor ga nema.",
    start: "Ponovno generiraj",
  },
};
