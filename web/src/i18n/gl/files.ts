import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("gl");

/** Galician texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "A mensaxe é demasiado longa",
    text: (used, window) => `Coa mensaxe, este chat tería ${used} tokens. O modelo le menos de ${window}.`,
    farTooLong: (window) => `Coa mensaxe, este chat é moito máis longo que os ${window} tokens que le o modelo.`,
    shorten: "Acúrtaa ou:",
    shortenAlone: "Acúrtaa.",
    remove: (name) => `Quitar ${name}`,
    leave: (messages) => plural(messages, { one: "Enviar sen a primeira mensaxe", other: `Enviar sen as primeiras ${messages} mensaxes` }),
    summarize: (messages) => plural(messages, { one: "Resumir a primeira mensaxe", other: `Resumir as primeiras ${messages} mensaxes` }),
    summarizing: "O modelo está escribindo o resumo. A mensaxe enviarase a continuación.",
    leaveTitle: "Quedan no chat, pero o modelo xa non as ve.",
    move: "Preguntar nun novo chat",
  },

  allSeen: "A partir de aquí, o modelo volve ver todas as mensaxes.",
  leftOut: (messages) =>
    plural(messages, {
      one: "A partir de aquí, o modelo xa non ve a primeira mensaxe.",
      other: `A partir de aquí, o modelo xa non ve as primeiras ${messages} mensaxes.`,
    }),

  summary: "Resumo",
  summarized: (messages) =>
    plural(messages, {
      one: "A partir de aquí, o modelo ve un resumo da primeira mensaxe.",
      other: `A partir de aquí, o modelo ve un resumo das primeiras ${messages} mensaxes.`,
    }),

  overflow: {
    server: "Esta mensaxe é demasiado grande para o servidor, así que queda só neste navegador. Acúrtaa ou quita algún ficheiro.",
    browser: "Esta mensaxe é demasiado grande para gardala ata que a envíes. Pérdese se pechas ou recargas a páxina.",
  },

  notRead: (name) => `Non se leu ${name}.`,

  unreadable: {
    tooBig: (name) => `${name} ten máis de 512 KiB de texto. Anexa a parte que importa.`,
    tooBigPdf: (name) => `${name} ocupa máis de 32 MiB. Anexa a parte que importa.`,
    noText: (name) => `${name} non é un ficheiro de texto, PDF, docx, xlsx, pptx ou epub. O modelo só le texto: se é un documento, gárdao nun destes formatos.`,
    old: (name) => `${name} está nun formato ofimático antigo. Gárdao como docx, xlsx ou pptx e anéxao.`,
    empty: (name) => `${name} non contén texto. As imaxes de texto necesitan antes un recoñecemento de texto.`,
    tooCostly: (name) => `Ler ${name} require demasiada memoria ou tempo. Anexa a parte que importa.`,
    scanned: (name) => `${name} non contén texto, só páxinas dixitalizadas. Fai antes un recoñecemento de texto.`,
    encrypted: (name) => `${name} está protexido cun contrasinal. Garda unha copia sen contrasinal e anéxaa.`,
    broken: (name) => `${name} está danado e non se pode ler. Gárdao ou descárgao de novo.`,
    gone: (name) => `Non se pode abrir ${name}. Se é un cartafol, escolle os ficheiros que contén; se non, escólleo de novo.`,
  },
};
