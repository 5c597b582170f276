import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("af");

/** Afrikaans texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Die boodskap is te lank",
    text: (used, window) => `Met die boodskap sou hierdie klets ${used} tokens hê. Die model lees minder as ${window}.`,
    farTooLong: (window) => `Met die boodskap is hierdie klets veel langer as die ${window} tokens wat die model lees.`,
    shorten: "Verkort dit, of:",
    shortenAlone: "Verkort dit.",
    remove: (name) => `Verwyder ${name}`,
    leave: (messages) => plural(messages, { one: "Stuur sonder die eerste boodskap", other: `Stuur sonder die eerste ${messages} boodskappe` }),
    summarize: (messages) => plural(messages, { one: "Som die eerste boodskap op", other: `Som die eerste ${messages} boodskappe op` }),
    summarizing: "Die model skryf die opsomming. Die boodskap word daarna gestuur.",
    leaveTitle: "Hulle bly in die klets, maar die model sien hulle nie meer nie.",
    move: "Vra in ’n nuwe klets",
  },

  allSeen: "Van hier af sien die model weer alle boodskappe.",
  leftOut: (messages) =>
    plural(messages, {
      one: "Van hier af sien die model nie meer die eerste boodskap nie.",
      other: `Van hier af sien die model nie meer die eerste ${messages} boodskappe nie.`,
    }),

  summary: "Opsomming",
  summarized: (messages) =>
    plural(messages, {
      one: "Van hier af sien die model ’n opsomming van die eerste boodskap.",
      other: `Van hier af sien die model ’n opsomming van die eerste ${messages} boodskappe.`,
    }),

  overflow: {
    server: "Hierdie boodskap is te groot vir die bediener en bly dus net in hierdie blaaier. Verkort dit, of laat ’n lêer weg.",
    browser: "Hierdie boodskap is te groot om te hou totdat jy dit stuur. Dit gaan verlore as jy die bladsy toemaak of herlaai.",
  },

  notRead: (name) => `${name} is nie gelees nie.`,

  unreadable: {
    tooBig: (name) => `${name} het meer as 512 KiB teks. Heg die deel aan wat saak maak.`,
    tooBigPdf: (name) => `${name} is groter as 32 MiB. Heg die deel aan wat saak maak.`,
    noText: (name) => `${name} is nie ’n tekslêer, PDF, docx, xlsx, pptx of epub nie. Die model lees net teks: stoor ’n dokument in een van hierdie formate.`,
    old: (name) => `${name} is in ’n ou kantoorformaat. Stoor dit as docx, xlsx of pptx en heg dit aan.`,
    empty: (name) => `${name} bevat geen teks nie. Prente van teks het eers teksherkenning nodig.`,
    tooCostly: (name) => `${name} verg te veel geheue of tyd om te lees. Heg die deel aan wat saak maak.`,
    scanned: (name) => `${name} bevat geen teks nie, net geskandeerde bladsye. Doen eers teksherkenning daarop.`,
    encrypted: (name) => `${name} is met ’n wagwoord gesluit. Stoor ’n kopie daarsonder en heg dit aan.`,
    broken: (name) => `${name} is beskadig en kan nie gelees word nie. Stoor dit weer of laai dit weer af.`,
    gone: (name) => `${name} kan nie oopgemaak word nie. As dit ’n vouer is, kies die lêers daarin; andersins, kies dit weer.`,
  },
};
