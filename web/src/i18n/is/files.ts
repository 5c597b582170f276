import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

/** Icelandic texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Skilaboðin eru of löng",
    text: (used, window) => `Með skilaboðunum yrði fjöldi tóka í spjallinu ${used}. Líkanið les færri en ${window}.`,
    farTooLong: (window) => `Með skilaboðunum er spjallið miklu lengra en líkanið les. Hámarkið í tókum er ${window}.`,
    shorten: "Styttu þau, eða:",
    shortenAlone: "Styttu þau.",
    remove: (name) => `Fjarlægja ${name}`,
    leave: (messages) => (messages === 1 ? "Senda án fyrstu skilaboðanna" : `Senda án fyrstu ${messages} skilaboðanna`),
    summarize: (messages) => (messages === 1 ? "Taka saman fyrstu skilaboðin" : `Taka saman fyrstu ${messages} skilaboðin`),
    summarizing: "Líkanið skrifar samantektina. Skilaboðin eru send að því loknu.",
    leaveTitle: "Þau eru áfram í spjallinu en líkanið sér þau ekki lengur.",
    move: "Spyrja í nýju spjalli",
  },

  allSeen: "Héðan í frá sér líkanið aftur öll skilaboð.",
  leftOut: (messages) =>
    `Héðan í frá sér líkanið ekki lengur ${messages === 1 ? "fyrstu skilaboðin" : `fyrstu ${messages} skilaboðin`}.`,

  summary: "Samantekt",
  summarized: (messages) =>
    `Héðan í frá sér líkanið samantekt á ${messages === 1 ? "fyrstu skilaboðunum" : `fyrstu ${messages} skilaboðunum`}.`,

  overflow: {
    server: "Skilaboðin eru of stór fyrir þjóninn og haldast því aðeins í þessum vafra. Styttu þau eða slepptu einhverri skrá.",
    browser: "Skilaboðin eru of stór til að geymast þar til þú sendir þau. Þau glatast ef þú lokar síðunni eða endurhleður hana.",
  },

  notRead: (name) => `${name} var ekki lesin.`,

  unreadable: {
    tooBig: (name) => `${name} inniheldur meira en 512 KiB af texta. Hengdu við þann hluta sem skiptir máli.`,
    tooBigPdf: (name) => `${name} er stærri en 32 MiB. Hengdu við þann hluta sem skiptir máli.`,
    noText: (name) => `${name} er ekki textaskrá, PDF, docx, xlsx, pptx eða epub. Líkanið les aðeins texta: vistaðu skjal á einhverju þessara sniða.`,
    old: (name) => `${name} er á gömlu Office-sniði. Vistaðu skrána sem docx, xlsx eða pptx og hengdu hana við.`,
    empty: (name) => `${name} inniheldur engan texta. Myndir af texta þurfa fyrst textagreiningu.`,
    tooCostly: (name) => `Of mikið minni eða tíma þarf til að lesa ${name}. Hengdu við þann hluta sem skiptir máli.`,
    scanned: (name) => `${name} inniheldur engan texta, aðeins skannaðar síður. Keyrðu fyrst textagreiningu á skránni.`,
    encrypted: (name) => `${name} er læst með lykilorði. Vistaðu afrit án lykilorðs og hengdu það við.`,
    broken: (name) => `${name} er skemmd og ekki er hægt að lesa hana. Vistaðu hana eða sæktu hana aftur.`,
    gone: (name) => `Ekki er hægt að opna ${name}. Ef þetta er mappa skaltu velja skrárnar í henni, annars skaltu velja skrána aftur.`,
  },
};
