import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("eu");

/** Basque texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Mezua luzeegia da",
    text: (used, window) => `Mezuarekin, txat honek ${used} token izango lituzke. Ereduak ${window} baino gutxiago irakurtzen ditu.`,
    farTooLong: (window) => `Mezuarekin, txat hau askoz luzeagoa da ereduak irakurtzen dituen ${window} tokenak baino.`,
    shorten: "Laburtu, edo:",
    shortenAlone: "Laburtu.",
    remove: (name) => `Kendu ${name}`,
    leave: (messages) => plural(messages, { one: "Bidali lehen mezua kanpoan utzita", other: `Bidali lehen ${messages} mezuak kanpoan utzita` }),
    summarize: (messages) => plural(messages, { one: "Laburbildu lehen mezua", other: `Laburbildu lehen ${messages} mezuak` }),
    summarizing: "Eredua laburpena idazten ari da. Mezua ondoren bidaliko da.",
    leaveTitle: "Txatean geratzen dira, baina ereduak ez ditu gehiago ikusten.",
    move: "Galdetu txat berri batean",
  },

  allSeen: "Hemendik aurrera, ereduak mezu guztiak ikusten ditu berriro.",
  leftOut: (messages) =>
    plural(messages, {
      one: "Hemendik aurrera, ereduak ez du lehen mezua ikusten.",
      other: `Hemendik aurrera, ereduak ez ditu lehen ${messages} mezuak ikusten.`,
    }),

  summary: "Laburpena",
  summarized: (messages) =>
    plural(messages, {
      one: "Hemendik aurrera, ereduak lehen mezuaren laburpena ikusten du.",
      other: `Hemendik aurrera, ereduak lehen ${messages} mezuen laburpena ikusten du.`,
    }),

  overflow: {
    server: "Mezu hau handiegia da zerbitzariarentzat; beraz, nabigatzaile honetan bakarrik geratuko da. Laburtu, edo utzi fitxategiren bat kanpoan.",
    browser: "Mezu hau handiegia da bidali arte gordetzeko. Orria ixten edo berriro kargatzen baduzu, galdu egingo da.",
  },

  notRead: (name) => `Ez da ${name} irakurri.`,

  unreadable: {
    tooBig: (name) => `${name} fitxategiak 512 KiB testu baino gehiago ditu. Erantsi behar duzun zatia.`,
    tooBigPdf: (name) => `${name} 32 MiB baino handiagoa da. Erantsi behar duzun zatia.`,
    noText: (name) => `${name} ez da testu-fitxategia, PDF, docx, xlsx, pptx edo epub. Ereduak testua baino ez du irakurtzen: dokumentua bada, gorde formatu horietako batean.`,
    old: (name) => `${name} bulegotikako formatu zahar batean dago. Gorde docx, xlsx edo pptx gisa eta erantsi.`,
    empty: (name) => `${name} fitxategiak ez du testurik. Testuen irudiek testu-ezagutza behar dute lehenbizi.`,
    tooCostly: (name) => `${name} irakurtzeak memoria edo denbora gehiegi eskatzen du. Erantsi behar duzun zatia.`,
    scanned: (name) => `${name} fitxategiak ez du testurik, eskaneatutako orriak baizik. Egin testu-ezagutza lehenbizi.`,
    encrypted: (name) => `${name} pasahitzez babestuta dago. Gorde pasahitzik gabeko kopia bat eta erantsi.`,
    broken: (name) => `${name} hondatuta dago eta ezin da irakurri. Gorde edo deskargatu berriro.`,
    gone: (name) => `Ezin da ${name} ireki. Karpeta bat bada, aukeratu barruko fitxategiak; bestela, aukeratu berriro.`,
  },
};
