import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

/** Filipino texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Masyadong mahaba ang mensahe",
    text: (used, window) => `Magkakaroon ng ${used} token ang chat na ito kasama ng mensahe. Wala pang ${window} ang nababasa ng model.`,
    farTooLong: (window) => `Kasama ng mensahe, mas mahaba nang husto ang chat na ito kaysa sa ${window} token na nababasa ng model.`,
    shorten: "Paikliin ito, o:",
    shortenAlone: "Paikliin ito.",
    remove: (name) => `Alisin ang ${name}`,
    leave: (messages) => (messages === 1 ? "Ipadala nang wala ang unang mensahe" : `Ipadala nang wala ang unang ${messages} mensahe`),
    summarize: (messages) => (messages === 1 ? "Ibuod ang unang mensahe" : `Ibuod ang unang ${messages} mensahe`),
    summarizing: "Isinusulat ng model ang buod. Ipapadala ang mensahe pagkatapos nito.",
    leaveTitle: "Mananatili sa chat ang mga ito, pero hindi na makikita ng model.",
    move: "Magtanong sa bagong chat",
  },

  allSeen: "Mula rito, nakikita na ulit ng model ang lahat ng mensahe.",
  leftOut: (messages) => `Mula rito, hindi na nakikita ng model ang ${messages === 1 ? "unang mensahe" : `unang ${messages} mensahe`}.`,

  summary: "Buod",
  summarized: (messages) => `Mula rito, buod ng ${messages === 1 ? "unang mensahe" : `unang ${messages} mensahe`} ang nakikita ng model.`,

  overflow: {
    server: "Masyadong malaki ang mensaheng ito para sa server, kaya mananatili lang ito sa browser na ito. Paikliin ito, o mag-alis ng file.",
    browser: "Masyadong malaki ang mensaheng ito para ma-save hanggang sa ipadala mo. Mawawala ito kapag isinara o ni-reload mo ang page.",
  },

  notRead: (name) => `Hindi nabasa ang ${name}.`,

  unreadable: {
    tooBig: (name) => `Mahigit 512 KiB ang text ng ${name}. I-attach ang bahaging mahalaga.`,
    tooBigPdf: (name) => `Mas malaki sa 32 MiB ang ${name}. I-attach ang bahaging mahalaga.`,
    noText: (name) => `Hindi text file, PDF, docx, xlsx, pptx o epub ang ${name}. Text lang ang nababasa ng model: kung dokumento ito, i-save bilang isa sa mga ito.`,
    old: (name) => `Nasa lumang format ng Office ang ${name}. I-save ito bilang docx, xlsx o pptx at iyon ang i-attach.`,
    empty: (name) => `Walang text ang ${name}. Kailangan muna ng text recognition ang mga larawan ng text.`,
    tooCostly: (name) => `Masyadong maraming memory o oras ang kailangan para mabasa ang ${name}. I-attach ang bahaging mahalaga.`,
    scanned: (name) => `Walang text ang ${name}, mga na-scan na pahina lang. Gamitan muna ito ng text recognition.`,
    encrypted: (name) => `Protektado ng password ang ${name}. Mag-save ng kopyang walang password at iyon ang i-attach.`,
    broken: (name) => `Sira ang ${name} at hindi mabasa. I-save o i-download ito ulit.`,
    gone: (name) => `Hindi mabuksan ang ${name}. Kung folder ito, piliin ang mga file sa loob; kung hindi, piliin ito ulit.`,
  },
};
