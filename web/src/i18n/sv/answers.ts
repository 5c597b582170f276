import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sv");

/** Swedish texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Redigerat svar",
    note: "Nästa meddelande fortsätter från din text. Originalet finns kvar som en version.",
  },

  rating: {
    field: "Vad var fel?",
    note: "Valfritt. Din feedback sparas med svaret.",
  },

  compare: {
    title: "Jämför svar",
    note: "Alla svar skrivs samtidigt. Även svar med samma inställningar kan skilja sig åt, om inte ett frö är angivet.",
    kept: "Varje svar finns kvar i chatten som en version.",
    column: (index) => `Svar ${index}`,
    temperature: (value) => `Temperatur ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Frö ${value}`,
    add: "Lägg till ett svar",
    remove: (index) => `Ta bort svar ${index}`,
    start: "Jämför",
    keep: "Behåll det här",
    merge: "Slå ihop till ett svar",
    stop: (index) => `Stoppa svar ${index}`,
    stopAll: "Stoppa alla",
  },

  prompts: {
    title: "Sparade prompter",
    search: "Sök prompt",
    none: "Inga prompter hittades.",
    empty: "Inga sparade prompter än. Spara en text som du ofta inleder meddelanden med. Skriv sedan ”/” i ett tomt meddelande för att se den här.",
    add: "Ny prompt",
    edit: (name) => `Redigera ”${name}”`,
    name: "Promptens namn",
    text: "Text",
    placeholders: "Platshållare inom dubbla klamrar, som {{stad}}, markeras så att du kan fylla i dem.",
    remove: "Radera prompten",
  },

  files: {
    search: "Sök fil",
    none: "Inga filer hittades. Använd bokmärket på en fil när du bifogar den för att behålla den här.",
    size: (characters) => `${characters} tecken`,
    remove: (name) => `Radera ${name}`,
    delete: "Radera",
    confirm: "Radera filen från dina filer? Chattar som innehåller den ändras inte.",
  },

  find: {
    title: "Sök i den här chatten",
    next: "Nästa träff",
    previous: "Föregående träff",
    at: (at, total) => `${at} av ${total}`,
    none: "Hittades inte",
  },

  queue: {
    title: "Meddelande i kö",
    waiting: "I kö. Skickas när svaret är klart.",
    now: "Skicka nu",
    nowTitle: "Stoppar svaret och behåller texten",
    held: "Inte skickat än: svaret stoppades, eller blev klart medan du var borta.",
    files: (count) => plural(count, { one: "1 fil", other: `${count} filer` }),
  },

  reading: {
    progress: (done, total) => `Läser chatten: ${done} av ${total} tokens`,
    left: (time) => `cirka ${time} kvar`,
  },

  regenerate: {
    title: "Generera om med andra inställningar",
    note: "Inställningarna gäller bara det här svaret. Ett tomt samplingsfält använder chattens inställning, men om systemprompten är tom har svaret ingen.",
    start: "Generera om",
  },
};
