import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("lv");

/** Latvian texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Rediģēta atbilde",
    note: "Nākamā ziņa turpinās no jūsu teksta. Oriģināls paliek kā versija.",
  },

  rating: {
    field: "Kas nebija labi?",
    note: "Nav obligāti. Atsauksme tiek glabāta kopā ar atbildi.",
  },

  compare: {
    title: "Salīdzināt atbildes",
    note: "Visas atbildes tiek rakstītas vienlaikus. Arī ar vienādiem iestatījumiem tās var atšķirties, ja nav norādīta sēkla.",
    kept: "Katra atbilde paliek tērzēšanā kā versija.",
    column: (index) => `${index}. atbilde`,
    temperature: (value) => `Temperatūra ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Sēkla ${value}`,
    add: "Pievienot atbildi",
    remove: (index) => `Noņemt ${index}. atbildi`,
    start: "Salīdzināt",
    keep: "Paturēt šo",
    merge: "Apvienot vienā atbildē",
    stop: (index) => `Apturēt ${index}. atbildi`,
    stopAll: "Apturēt visas",
  },

  prompts: {
    title: "Saglabātās uzvednes",
    search: "Atrast uzvedni",
    none: "Uzvednes netika atrastas.",
    empty: "Vēl nav saglabātu uzvedņu. Saglabājiet tekstu, ar kuru bieži sākat ziņas: „/” tukšā ziņā to parādīs šeit.",
    add: "Jauna uzvedne",
    edit: (name) => `Rediģēt „${name}”`,
    name: "Uzvednes nosaukums",
    text: "Teksts",
    placeholders: "Vietas dubultās figūriekavās, piemēram, {{pilsēta}}, tiek atlasītas, lai jūs tās aizpildītu.",
    remove: "Dzēst uzvedni",
  },

  files: {
    search: "Atrast failu",
    none: "Faili netika atrasti. Pievienojot failu, saglabājiet to ar grāmatzīmi pie tā.",
    size: (characters) => `rakstzīmes: ${characters}`,
    remove: (name) => `Dzēst ${name}`,
    delete: "Dzēst",
    confirm: "Vai dzēst šo failu no jūsu failiem? Tērzēšanas, kurās tas ir, nemainās.",
  },

  find: {
    title: "Atrast šajā sarunā",
    next: "Nākamā atbilstība",
    previous: "Iepriekšējā atbilstība",
    at: (at, total) => `${at} no ${total}`,
    none: "Nav atrasts",
  },

  queue: {
    title: "Ziņa rindā",
    waiting: "Rindā. Tiks nosūtīta, kad atbilde būs gatava.",
    now: "Sūtīt tūlīt",
    nowTitle: "Aptur atbildi un saglabā tās tekstu",
    held: "Vēl nav nosūtīta: atbilde tika apturēta vai beidzās, kamēr jūsu šeit nebija.",
    files: (count) => plural(count, { zero: `${count} failu`, one: `${count} fails`, other: `${count} faili` }),
  },

  reading: {
    progress: (done, total) => `Tērzēšana tiek lasīta: ${done} no ${total} tokeniem`,
    left: (time) => `vēl aptuveni ${time}`,
  },

  regenerate: {
    title: "Ģenerēt vēlreiz ar citiem iestatījumiem",
    note: "Šie iestatījumi attiecas tikai uz šo atbildi. Tukšā izlases laukā spēkā ir tērzēšanas iestatījums; ja sistēmas uzvedne ir tukša, atbilde tiek rakstīta bez tās.",
    start: "Ģenerēt vēlreiz",
  },
};
