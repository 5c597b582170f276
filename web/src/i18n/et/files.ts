import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("et");

/** Estonian texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Sõnum on liiga pikk",
    text: (used, window) => `Koos sõnumiga oleks selles vestluses ${used} tokenit. Mudel loeb vähem kui ${window}.`,
    farTooLong: (window) => `Koos sõnumiga on see vestlus palju pikem kui ${window} tokenit, mida mudel loeb.`,
    shorten: "Lühenda seda või:",
    shortenAlone: "Lühenda seda.",
    remove: (name) => `Eemalda ${name}`,
    leave: (messages) => plural(messages, { one: "Saada ilma esimese sõnumita", other: `Saada ilma esimese ${messages} sõnumita` }),
    summarize: (messages) => plural(messages, { one: "Tee esimesest sõnumist kokkuvõte", other: `Tee esimesest ${messages} sõnumist kokkuvõte` }),
    summarizing: "Mudel kirjutab kokkuvõtet. Seejärel saadetakse sõnum.",
    leaveTitle: "Need jäävad vestlusse, kuid mudel neid enam ei näe.",
    move: "Küsi uues vestluses",
  },

  allSeen: "Siit alates näeb mudel taas kõiki sõnumeid.",
  leftOut: (messages) => plural(messages, { one: "Siit alates ei näe mudel enam esimest sõnumit.", other: `Siit alates ei näe mudel enam esimest ${messages} sõnumit.` }),

  summary: "Kokkuvõte",
  summarized: (messages) => plural(messages, { one: "Siit alates näeb mudel esimese sõnumi kokkuvõtet.", other: `Siit alates näeb mudel esimese ${messages} sõnumi kokkuvõtet.` }),

  overflow: {
    server: "See sõnum on serveri jaoks liiga suur, seepärast jääb see ainult sellesse brauserisse. Lühenda seda või jäta mõni fail välja.",
    browser: "See sõnum on liiga suur, et seda saatmiseni alles hoida. See läheb kaotsi, kui sulged lehe või laadid selle uuesti.",
  },

  notRead: (name) => `Faili ${name} ei loetud.`,

  unreadable: {
    tooBig: (name) => `Failis ${name} on üle 512 KiB teksti. Manusta oluline osa.`,
    tooBigPdf: (name) => `${name} on suurem kui 32 MiB. Manusta oluline osa.`,
    noText: (name) => `${name} ei ole tekstifail, PDF, docx, xlsx, pptx ega epub. Mudel loeb ainult teksti: salvesta dokument ühes neist vormingutest.`,
    old: (name) => `${name} on vanas Office’i vormingus. Salvesta see docx-, xlsx- või pptx-failina ja manusta see.`,
    empty: (name) => `${name} ei sisalda teksti. Pildina salvestatud tekst vajab kõigepealt tekstituvastust.`,
    tooCostly: (name) => `Faili ${name} lugemine nõuab liiga palju mälu või aega. Manusta oluline osa.`,
    scanned: (name) => `${name} ei sisalda teksti, vaid ainult skannitud lehti. Tee sellele kõigepealt tekstituvastus.`,
    encrypted: (name) => `${name} on parooliga kaitstud. Salvesta paroolita koopia ja manusta see.`,
    broken: (name) => `${name} on kahjustatud ja seda ei saa lugeda. Salvesta või laadi see uuesti alla.`,
    gone: (name) => `${name} ei avane. Kui see on kaust, vali selles olevad failid, muidu vali see uuesti.`,
  },
};
