import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("ca");

/** Catalan texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "El missatge és massa llarg",
    text: (used, window) => `Amb el missatge, aquest xat tindria ${used} tokens. El model en llegeix menys de ${window}.`,
    farTooLong: (window) => `Amb el missatge, aquest xat és molt més llarg que els ${window} tokens que llegeix el model.`,
    shorten: "Escurça’l o:",
    shortenAlone: "Escurça’l.",
    remove: (name) => `Treu ${name}`,
    leave: (messages) => plural(messages, { one: "Envia sense el primer missatge", other: `Envia sense els primers ${messages} missatges` }),
    summarize: (messages) => plural(messages, { one: "Resumeix el primer missatge", other: `Resumeix els primers ${messages} missatges` }),
    summarizing: "El model està escrivint el resum. El missatge s’enviarà tot seguit.",
    leaveTitle: "Es queden al xat, però el model ja no els veu.",
    move: "Pregunta en un xat nou",
  },

  allSeen: "A partir d’aquí, el model torna a veure tots els missatges.",
  leftOut: (messages) =>
    plural(messages, {
      one: "A partir d’aquí, el model ja no veu el primer missatge.",
      other: `A partir d’aquí, el model ja no veu els primers ${messages} missatges.`,
    }),

  summary: "Resum",
  summarized: (messages) =>
    plural(messages, {
      one: "A partir d’aquí, el model veu un resum del primer missatge.",
      other: `A partir d’aquí, el model veu un resum dels primers ${messages} missatges.`,
    }),

  overflow: {
    server: "Aquest missatge és massa gran per al servidor, així que es queda només en aquest navegador. Escurça’l o treu-ne algun fitxer.",
    browser: "Aquest missatge és massa gran per desar-lo fins que l’enviïs. Es perd si tanques o tornes a carregar la pàgina.",
  },

  notRead: (name) => `No s’ha llegit ${name}.`,

  unreadable: {
    tooBig: (name) => `${name} té més de 512 KiB de text. Adjunta’n la part que importa.`,
    tooBigPdf: (name) => `${name} ocupa més de 32 MiB. Adjunta’n la part que importa.`,
    noText: (name) => `${name} no és un fitxer de text, PDF, docx, xlsx, pptx o epub. El model només llegeix text: si és un document, desa’l en un d’aquests formats.`,
    old: (name) => `${name} està en un format d’ofimàtica antic. Desa’l com a docx, xlsx o pptx i adjunta’l.`,
    empty: (name) => `${name} no conté text. Les imatges de text necessiten abans un reconeixement de text.`,
    tooCostly: (name) => `Llegir ${name} requereix massa memòria o temps. Adjunta’n la part que importa.`,
    scanned: (name) => `${name} no conté text, només pàgines escanejades. Fes-ne abans el reconeixement de text.`,
    encrypted: (name) => `${name} està protegit amb contrasenya. Desa’n una còpia sense contrasenya i adjunta-la.`,
    broken: (name) => `${name} està malmès i no es pot llegir. Torna’l a desar o a baixar.`,
    gone: (name) => `No es pot obrir ${name}. Si és una carpeta, tria els fitxers que conté; si no, torna’l a triar.`,
  },
};
