import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("nb");

/** Norwegian Bokmål texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Redigert svar",
    note: "Den neste meldingen fortsetter fra teksten din. Originalen beholdes som en versjon.",
  },

  rating: {
    field: "Hva var galt?",
    note: "Valgfritt. Tilbakemeldingen lagres sammen med svaret.",
  },

  compare: {
    title: "Sammenlign svar",
    note: "Alle svarene skrives samtidig. Svar med de samme innstillingene kan likevel være ulike, med mindre det er angitt et frø.",
    kept: "Hvert svar blir værende i chatten som en versjon.",
    column: (index) => `Svar ${index}`,
    temperature: (value) => `Temperatur ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Frø ${value}`,
    add: "Legg til et svar",
    remove: (index) => `Fjern svar ${index}`,
    start: "Sammenlign",
    keep: "Behold dette",
    merge: "Slå sammen til ett svar",
    stop: (index) => `Stopp svar ${index}`,
    stopAll: "Stopp alle",
  },

  prompts: {
    title: "Lagrede ledetekster",
    search: "Finn en ledetekst",
    none: "Fant ingen ledetekster.",
    empty: "Ingen lagrede ledetekster ennå. Lagre en tekst som du ofte begynner meldinger med: Skriv «/» i en tom melding for å se den her.",
    add: "Ny ledetekst",
    edit: (name) => `Rediger «${name}»`,
    name: "Navn på ledeteksten",
    text: "Tekst",
    placeholders: "Plassholdere i doble krøllparenteser, som {{by}}, markeres slik at du kan fylle dem ut.",
    remove: "Slett ledeteksten",
  },

  files: {
    search: "Finn en fil",
    none: "Fant ingen filer. Bruk bokmerket på en fil når du legger den ved, for å beholde den her.",
    size: (characters) => `${characters} tegn`,
    remove: (name) => `Slett ${name}`,
    delete: "Slett",
    confirm: "Slette filen fra filene dine? Chatter som inneholder den, forblir som de er.",
  },

  find: {
    title: "Finn i denne samtalen",
    next: "Neste treff",
    previous: "Forrige treff",
    at: (at, total) => `${at} av ${total}`,
    none: "Ikke funnet",
  },

  queue: {
    title: "Melding i kø",
    waiting: "I kø. Sendes når svaret er ferdig.",
    now: "Send nå",
    nowTitle: "Stopper svaret og beholder teksten",
    held: "Ikke sendt ennå: Svaret ble stoppet, eller det ble ferdig mens du var borte.",
    files: (count) => plural(count, { one: "1 fil", other: `${count} filer` }),
  },

  reading: {
    progress: (done, total) => `Leser chatten: ${done} av ${total} tokens`,
    left: (time) => `ca. ${time} igjen`,
  },

  regenerate: {
    title: "Generer på nytt med andre innstillinger",
    note: "Innstillingene gjelder bare for dette svaret. Et tomt samplingfelt bruker innstillingen til chatten; hvis systemledeteksten er tom, har svaret ingen.",
    start: "Generer på nytt",
  },
};
