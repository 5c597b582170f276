import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("ca");

/** Catalan texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Resposta editada",
    note: "El missatge següent continua a partir del teu text. L’original es conserva com a versió.",
  },

  rating: {
    field: "Què ha anat malament?",
    note: "Opcional. El teu comentari es desa amb la resposta.",
  },

  compare: {
    title: "Compara respostes",
    note: "Totes les respostes s’escriuen alhora. Amb la mateixa configuració, poden ser diferents igualment, llevat que es defineixi una llavor.",
    kept: "Cada resposta queda al xat com a versió.",
    column: (index) => `Resposta ${index}`,
    temperature: (value) => `Temperatura ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Llavor ${value}`,
    add: "Afegeix una resposta",
    remove: (index) => `Treu la resposta ${index}`,
    start: "Compara",
    keep: "Queda’t aquesta",
    merge: "Combina-les en una resposta",
    stop: (index) => `Atura la resposta ${index}`,
    stopAll: "Atura-les totes",
  },

  prompts: {
    title: "Indicacions desades",
    search: "Cerca una indicació",
    none: "No s’ha trobat cap indicació.",
    empty: "Encara no hi ha cap indicació desada. Desa un text amb què sovint comences missatges: «/» en un missatge buit el mostrarà aquí.",
    add: "Indicació nova",
    edit: (name) => `Edita «${name}»`,
    name: "Nom de la indicació",
    text: "Text",
    placeholders: "Els camps entre claus dobles, com ara {{ciutat}}, se seleccionen perquè els omplis.",
    remove: "Suprimeix la indicació",
  },

  files: {
    search: "Cerca un fitxer",
    none: "No s’ha trobat cap fitxer. Per desar un fitxer, fes servir el marcador que té quan l’adjuntes.",
    size: (characters) => `${characters} caràcters`,
    remove: (name) => `Suprimeix ${name}`,
    delete: "Suprimeix",
    confirm: "Vols suprimir aquest fitxer dels teus fitxers? Els xats que el contenen no canvien.",
  },

  find: {
    title: "Cerca en aquest xat",
    next: "Coincidència següent",
    previous: "Coincidència anterior",
    at: (at, total) => `${at} de ${total}`,
    none: "No s'ha trobat",
  },

  queue: {
    title: "Missatge a la cua",
    waiting: "A la cua. S’enviarà quan s’acabi la resposta.",
    now: "Envia ara",
    nowTitle: "Atura la resposta i en conserva el text",
    held: "Encara no s’ha enviat: la resposta s’ha aturat, o s’ha acabat mentre no hi eres.",
    files: (count) => plural(count, { one: `${count} fitxer`, other: `${count} fitxers` }),
  },

  reading: {
    progress: (done, total) => `S’està llegint el xat: ${done} de ${total} tokens`,
    left: (time) => `falten uns ${time}`,
  },

  regenerate: {
    title: "Torna a generar amb una altra configuració",
    note: "Aquesta configuració només s’aplica a aquesta resposta. Un camp de mostreig buit fa servir la configuració del xat; si la indicació del sistema és buida, la resposta no en té cap.",
    start: "Torna a generar",
  },
};
