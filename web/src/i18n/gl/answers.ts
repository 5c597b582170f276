import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("gl");

/** Galician texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Resposta editada",
    note: "A seguinte mensaxe continúa a partir do teu texto. O orixinal consérvase como versión.",
  },

  rating: {
    field: "Que estaba mal?",
    note: "Opcional. O teu comentario gárdase coa resposta.",
  },

  compare: {
    title: "Comparar respostas",
    note: "Todas as respostas se escriben á vez. Cos mesmos axustes poden ser diferentes igualmente, agás que se defina unha semente.",
    kept: "Cada resposta queda no chat como versión.",
    column: (index) => `Resposta ${index}`,
    temperature: (value) => `Temperatura ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Semente ${value}`,
    add: "Engadir unha resposta",
    remove: (index) => `Quitar a resposta ${index}`,
    start: "Comparar",
    keep: "Quedar con esta",
    merge: "Combinar nunha soa resposta",
    stop: (index) => `Deter a resposta ${index}`,
    stopAll: "Deter todas",
  },

  prompts: {
    title: "Prompts gardados",
    search: "Buscar un prompt",
    none: "Non se atopou ningún prompt.",
    empty: "Aínda non hai prompts gardados. Garda un texto co que adoitas comezar mensaxes: «/» nunha mensaxe baleira mostrarao aquí.",
    add: "Novo prompt",
    edit: (name) => `Editar «${name}»`,
    name: "Nome do prompt",
    text: "Texto",
    placeholders: "Os campos entre chaves dobres, como {{cidade}}, selecciónanse para que os cubras.",
    remove: "Eliminar o prompt",
  },

  files: {
    search: "Buscar un ficheiro",
    none: "Non se atopou ningún ficheiro. Para gardar un ficheiro, usa o seu marcador ao anexalo.",
    size: (characters) => `${characters} caracteres`,
    remove: (name) => `Eliminar ${name}`,
    delete: "Eliminar",
    confirm: "Eliminar este ficheiro dos teus ficheiros? Os chats que o conteñen non cambian.",
  },

  find: {
    title: "Buscar neste chat",
    next: "Coincidencia seguinte",
    previous: "Coincidencia anterior",
    at: (at, total) => `${at} de ${total}`,
    none: "Non se atopou",
  },

  queue: {
    title: "Mensaxe na cola",
    waiting: "Na cola. Enviarase cando remate a resposta.",
    now: "Enviar agora",
    nowTitle: "Detén a resposta e conserva o seu texto",
    held: "Aínda non enviada: a resposta detívose, ou rematou mentres non estabas.",
    files: (count) => plural(count, { one: `${count} ficheiro`, other: `${count} ficheiros` }),
  },

  reading: {
    progress: (done, total) => `Lendo o chat: ${done} de ${total} tokens`,
    left: (time) => `quedan uns ${time}`,
  },

  regenerate: {
    title: "Xerar de novo con outros axustes",
    note: "Estes axustes só se aplican a esta resposta. Un campo de mostraxe baleiro usa o axuste do chat; se o prompt do sistema está baleiro, a resposta non leva ningún.",
    start: "Xerar de novo",
  },
};
