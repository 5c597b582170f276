import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("da");

/** Danish texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Beskeden er for lang",
    text: (used, window) => `Med beskeden ville chatten have ${used} tokens. Modellen læser færre end ${window}.`,
    farTooLong: (window) => `Med beskeden er chatten langt længere end de ${window} tokens, som modellen læser.`,
    shorten: "Forkort den, eller:",
    shortenAlone: "Forkort den.",
    remove: (name) => `Fjern ${name}`,
    leave: (messages) => plural(messages, { one: "Send uden den første besked", other: `Send uden de første ${messages} beskeder` }),
    summarize: (messages) => plural(messages, { one: "Sammenfat den første besked", other: `Sammenfat de første ${messages} beskeder` }),
    summarizing: "Modellen skriver sammenfatningen. Derefter sendes beskeden.",
    leaveTitle: "De bliver i chatten, men modellen ser dem ikke længere.",
    move: "Spørg i en ny chat",
  },

  allSeen: "Herfra ser modellen alle beskeder igen.",
  leftOut: (messages) => plural(messages, { one: "Herfra ser modellen ikke længere den første besked.", other: `Herfra ser modellen ikke længere de første ${messages} beskeder.` }),

  summary: "Sammenfatning",
  summarized: (messages) => plural(messages, { one: "Herfra ser modellen en sammenfatning af den første besked.", other: `Herfra ser modellen en sammenfatning af de første ${messages} beskeder.` }),

  overflow: {
    server: "Beskeden er for stor til serveren, så den gemmes kun i denne browser. Forkort den, eller udelad en fil.",
    browser: "Beskeden er for stor til at blive gemt, indtil du sender den. Den går tabt, når du lukker eller genindlæser siden.",
  },

  notRead: (name) => `${name} blev ikke læst.`,

  unreadable: {
    tooBig: (name) => `${name} indeholder mere end 512 KiB tekst. Vedhæft den del, der er vigtig.`,
    tooBigPdf: (name) => `${name} er større end 32 MiB. Vedhæft den del, der er vigtig.`,
    noText: (name) => `${name} er ikke en tekstfil, PDF, docx, xlsx, pptx eller epub. Modellen læser kun tekst: Gem et dokument i et af disse formater.`,
    old: (name) => `${name} har et gammelt Office-format. Gem filen som docx, xlsx eller pptx, og vedhæft den.`,
    empty: (name) => `${name} indeholder ingen tekst. Billeder af tekst skal først igennem tekstgenkendelse.`,
    tooCostly: (name) => `${name} kræver for meget hukommelse eller tid at læse. Vedhæft den del, der er vigtig.`,
    scanned: (name) => `${name} indeholder ingen tekst, kun scannede sider. Kør tekstgenkendelse på filen først.`,
    encrypted: (name) => `${name} er låst med en adgangskode. Gem en kopi uden adgangskode, og vedhæft den.`,
    broken: (name) => `${name} er beskadiget og kan ikke læses. Gem eller download filen igen.`,
    gone: (name) => `${name} kan ikke åbnes. Hvis det er en mappe, så vælg filerne i den. Ellers vælg filen igen.`,
  },
};
