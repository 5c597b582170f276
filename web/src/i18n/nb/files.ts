import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("nb");

/** Norwegian Bokmål texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Meldingen er for lang",
    text: (used, window) => `Med meldingen ville chatten hatt ${used} tokens. Modellen leser færre enn ${window}.`,
    farTooLong: (window) => `Med meldingen er chatten mye lengre enn de ${window} tokenene modellen leser.`,
    shorten: "Gjør den kortere, eller:",
    shortenAlone: "Gjør den kortere.",
    remove: (name) => `Fjern ${name}`,
    leave: (messages) => plural(messages, { one: "Send uten den første meldingen", other: `Send uten de første ${messages} meldingene` }),
    summarize: (messages) => plural(messages, { one: "Oppsummer den første meldingen", other: `Oppsummer de første ${messages} meldingene` }),
    summarizing: "Modellen skriver sammendraget. Deretter sendes meldingen.",
    leaveTitle: "De blir værende i chatten, men modellen ser dem ikke lenger.",
    move: "Spør i en ny chat",
  },

  allSeen: "Herfra ser modellen alle meldingene igjen.",
  leftOut: (messages) => plural(messages, { one: "Herfra ser modellen ikke lenger den første meldingen.", other: `Herfra ser modellen ikke lenger de første ${messages} meldingene.` }),

  summary: "Sammendrag",
  summarized: (messages) => plural(messages, { one: "Herfra ser modellen et sammendrag av den første meldingen.", other: `Herfra ser modellen et sammendrag av de første ${messages} meldingene.` }),

  overflow: {
    server: "Meldingen er for stor for serveren, så den blir bare lagret i denne nettleseren. Gjør den kortere, eller utelat en fil.",
    browser: "Meldingen er for stor til å lagres til du sender den. Den går tapt hvis du lukker siden eller laster den inn på nytt.",
  },

  notRead: (name) => `${name} ble ikke lest.`,

  unreadable: {
    tooBig: (name) => `${name} inneholder mer enn 512 KiB tekst. Legg ved den delen som er viktig.`,
    tooBigPdf: (name) => `${name} er større enn 32 MiB. Legg ved den delen som er viktig.`,
    noText: (name) => `${name} er ikke en tekstfil, PDF, docx, xlsx, pptx eller epub. Modellen leser bare tekst: Lagre et dokument i et av disse formatene.`,
    old: (name) => `${name} har et gammelt Office-format. Lagre filen som docx, xlsx eller pptx, og legg den ved.`,
    empty: (name) => `${name} inneholder ingen tekst. Bilder av tekst trenger tekstgjenkjenning først.`,
    tooCostly: (name) => `${name} krever for mye minne eller tid å lese. Legg ved den delen som er viktig.`,
    scanned: (name) => `${name} inneholder ingen tekst, bare skannede sider. Kjør tekstgjenkjenning på filen først.`,
    encrypted: (name) => `${name} er låst med et passord. Lagre en kopi uten passord, og legg den ved.`,
    broken: (name) => `${name} er skadet og kan ikke leses. Lagre eller last ned filen på nytt.`,
    gone: (name) => `${name} kan ikke åpnes. Hvis det er en mappe, velger du filene i den. Hvis ikke, velger du filen på nytt.`,
  },
};
