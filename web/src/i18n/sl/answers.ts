import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sl");

/** Slovenian texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Urejeni odgovor",
    note: "Naslednje sporočilo se naveže na vaše besedilo. Izvirnik se ohrani kot različica.",
  },

  rating: {
    field: "Kaj je bilo narobe?",
    note: "Neobvezno. Vaše povratne informacije se shranijo ob odgovoru.",
  },

  compare: {
    title: "Primerjava odgovorov",
    note: "Vsi odgovori se pišejo hkrati. Tudi pri enakih nastavitvah se lahko razlikujejo, razen če je nastavljeno seme.",
    kept: "Vsak odgovor ostane v klepetu kot različica.",
    column: (index) => `Odgovor ${index}`,
    temperature: (value) => `Temperatura ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Seme ${value}`,
    add: "Dodaj odgovor",
    remove: (index) => `Odstrani odgovor ${index}`,
    start: "Primerjaj",
    keep: "Obdrži tega",
    merge: "Združi v en odgovor",
    stop: (index) => `Ustavi odgovor ${index}`,
    stopAll: "Ustavi vse",
  },

  prompts: {
    title: "Shranjeni pozivi",
    search: "Poišči poziv",
    none: "Ni najdenih pozivov.",
    empty: "Ni še shranjenih pozivov. Shranite besedilo, s katerim pogosto začenjate sporočila: »/« v praznem sporočilu ga nato pokaže tukaj.",
    add: "Nov poziv",
    edit: (name) => `Uredi »${name}«`,
    name: "Ime poziva",
    text: "Besedilo",
    placeholders: "Mesta v dvojnih zavitih oklepajih, na primer {{mesto}}, se označijo, da jih izpolnite.",
    remove: "Izbriši poziv",
  },

  files: {
    search: "Poišči datoteko",
    none: "Ni najdenih datotek. Ko datoteko priložite, jo shranite z zaznamkom na njej.",
    size: (characters) => `znakov: ${characters}`,
    remove: (name) => `Izbriši ${name}`,
    delete: "Izbriši",
    confirm: "Želite to datoteko izbrisati iz svojih datotek? Klepeti, ki jo vsebujejo, ostanejo nespremenjeni.",
  },

  find: {
    title: "Najdi v tem klepetu",
    next: "Naslednji zadetek",
    previous: "Prejšnji zadetek",
    at: (at, total) => `${at} od ${total}`,
    none: "Ni najdeno",
  },

  queue: {
    title: "Sporočilo v čakalni vrsti",
    waiting: "V čakalni vrsti. Poslano bo, ko bo odgovor končan.",
    now: "Pošlji zdaj",
    nowTitle: "Ustavi odgovor in obdrži njegovo besedilo",
    held: "Še ni poslano: odgovor je bil ustavljen ali pa se je končal, ko vas ni bilo tu.",
    files: (count) => plural(count, { one: `${count} datoteka`, two: `${count} datoteki`, few: `${count} datoteke`, other: `${count} datotek` }),
  },

  reading: {
    progress: (done, total) => `Branje klepeta: ${done} od ${total} žetonov`,
    left: (time) => `še približno ${time}`,
  },

  regenerate: {
    title: "Ustvari znova z drugimi nastavitvami",
    note: "Te nastavitve veljajo samo za ta odgovor. Prazno polje vzorčenja uporabi nastavitev klepeta; če je sistemski poziv prazen, je odgovor napisan brez njega.",
    start: "Ustvari znova",
  },
};
