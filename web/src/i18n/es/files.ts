import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";

const plural = pluralsOf("es");

/** Spanish texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: FileTexts = {
  tooLong: {
    title: "El mensaje es demasiado largo",
    text: (used, window) => `Con el mensaje, este chat tendría ${used} tokens. El modelo lee menos de ${window}.`,
    farTooLong: (window) => `Con el mensaje, este chat supera con mucho los ${window} tokens que lee el modelo.`,
    shorten: "Acórtalo, o bien:",
    shortenAlone: "Acórtalo.",
    remove: (name) => `Quitar ${name}`,
    leave: (messages) => plural(messages, { one: "Enviar sin el primer mensaje", other: `Enviar sin los ${messages} primeros mensajes` }),
    summarize: (messages) => plural(messages, { one: "Resumir el primer mensaje", other: `Resumir los ${messages} primeros mensajes` }),
    summarizing: "El modelo está escribiendo el resumen. El mensaje se enviará después.",
    leaveTitle: "Permanecen en el chat, pero el modelo ya no los ve.",
    move: "Preguntar en un chat nuevo",
  },

  allSeen: "A partir de aquí, el modelo vuelve a ver todos los mensajes.",
  leftOut: (messages) =>
    plural(messages, { one: "A partir de aquí, el modelo ya no ve el primer mensaje.", other: `A partir de aquí, el modelo ya no ve los ${messages} primeros mensajes.` }),

  summary: "Resumen",
  summarized: (messages) =>
    plural(messages, { one: "A partir de aquí, el modelo ve un resumen del primer mensaje.", other: `A partir de aquí, el modelo ve un resumen de los ${messages} primeros mensajes.` }),

  overflow: {
    server: "Este mensaje es demasiado grande para el servidor, así que se queda solo en este navegador. Acórtalo o quita algún archivo.",
    browser: "Este mensaje es demasiado grande para guardarlo hasta que lo envíes. Se perderá si cierras o recargas la página.",
  },

  notRead: (name) => `No se ha leído ${name}.`,

  unreadable: {
    tooBig: (name) => `${name} tiene más de 512 KiB de texto. Adjunta la parte que importa.`,
    tooBigPdf: (name) => `${name} supera los 32 MiB. Adjunta la parte que importa.`,
    noText: (name) => `${name} no es un archivo de texto, PDF, docx, xlsx, pptx ni epub. El modelo solo lee texto: si es un documento, guárdalo en uno de estos formatos.`,
    old: (name) => `${name} está en un formato antiguo de Office. Guárdalo como docx, xlsx o pptx y adjunta el resultado.`,
    empty: (name) => `${name} no contiene texto. Las imágenes de texto necesitan antes un reconocimiento de texto.`,
    tooCostly: (name) => `Leer ${name} requiere demasiada memoria o demasiado tiempo. Adjunta la parte que importa.`,
    scanned: (name) => `${name} no contiene texto, solo páginas escaneadas. Aplícale antes un reconocimiento de texto.`,
    encrypted: (name) => `${name} está protegido con contraseña. Guarda una copia sin contraseña y adjúntala.`,
    broken: (name) => `${name} está dañado y no se puede leer. Guárdalo o descárgalo de nuevo.`,
    gone: (name) => `No se puede abrir ${name}. Si es una carpeta, elige los archivos que contiene; si no, elígelo de nuevo.`,
  },
};
