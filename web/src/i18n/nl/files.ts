import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("nl");

/** Dutch texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Het bericht is te lang",
    text: (used, window) => `Met dit bericht zou de chat ${used} tokens hebben. Het model leest er minder dan ${window}.`,
    farTooLong: (window) => `Met dit bericht is de chat veel langer dan de ${window} tokens die het model leest.`,
    shorten: "Maak het korter, of:",
    shortenAlone: "Maak het korter.",
    remove: (name) => `${name} verwijderen`,
    leave: (messages) => plural(messages, { one: "Verzenden zonder het eerste bericht", other: `Verzenden zonder de eerste ${messages} berichten` }),
    summarize: (messages) => plural(messages, { one: "Het eerste bericht samenvatten", other: `De eerste ${messages} berichten samenvatten` }),
    summarizing: "Het model schrijft de samenvatting. Daarna wordt het bericht verzonden.",
    leaveTitle: "Ze blijven in de chat, maar het model ziet ze niet meer.",
    move: "Vragen in een nieuwe chat",
  },

  allSeen: "Vanaf hier ziet het model weer alle berichten.",
  leftOut: (messages) => plural(messages, { one: "Vanaf hier ziet het model het eerste bericht niet meer.", other: `Vanaf hier ziet het model de eerste ${messages} berichten niet meer.` }),

  summary: "Samenvatting",
  summarized: (messages) => plural(messages, { one: "Vanaf hier ziet het model een samenvatting van het eerste bericht.", other: `Vanaf hier ziet het model een samenvatting van de eerste ${messages} berichten.` }),

  overflow: {
    server: "Dit bericht is te groot voor de server en blijft daarom alleen in deze browser. Maak het korter of laat een bestand weg.",
    browser: "Dit bericht is te groot om te bewaren tot je het verzendt. Het gaat verloren als je de pagina sluit of opnieuw laadt.",
  },

  notRead: (name) => `${name} is niet gelezen.`,

  unreadable: {
    tooBig: (name) => `${name} bevat meer dan 512 KiB tekst. Voeg alleen het deel toe waar het om gaat.`,
    tooBigPdf: (name) => `${name} is groter dan 32 MiB. Voeg alleen het deel toe waar het om gaat.`,
    noText: (name) => `${name} is geen tekstbestand, PDF, docx, xlsx, pptx of epub. Het model leest alleen tekst: sla een document op in een van deze indelingen.`,
    old: (name) => `${name} heeft een oude Office-indeling. Sla het bestand op als docx, xlsx of pptx en voeg dat toe.`,
    empty: (name) => `${name} bevat geen tekst. Voor afbeeldingen van tekst is eerst tekstherkenning nodig.`,
    tooCostly: (name) => `Het lezen van ${name} kost te veel geheugen of tijd. Voeg alleen het deel toe waar het om gaat.`,
    scanned: (name) => `${name} bevat geen tekst, alleen gescande pagina’s. Pas er eerst tekstherkenning op toe.`,
    encrypted: (name) => `${name} is beveiligd met een wachtwoord. Sla een kopie zonder wachtwoord op en voeg die toe.`,
    broken: (name) => `${name} is beschadigd en kan niet worden gelezen. Sla het bestand opnieuw op of download het opnieuw.`,
    gone: (name) => `${name} kan niet worden geopend. Is het een map, kies dan de bestanden daarin; kies het bestand anders opnieuw.`,
  },
};
