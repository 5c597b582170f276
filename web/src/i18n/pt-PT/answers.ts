import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("pt-PT");

/** European Portuguese texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Resposta editada",
    note: "A próxima mensagem continua a partir do seu texto. A original é mantida como versão.",
  },

  rating: {
    field: "O que correu mal?",
    note: "Opcional. O seu comentário é guardado com a resposta.",
  },

  compare: {
    title: "Comparar respostas",
    note: "Todas as respostas são escritas ao mesmo tempo. Com as mesmas definições, podem ainda assim ser diferentes, a não ser que seja definida uma semente.",
    kept: "Cada resposta fica na conversa como uma versão.",
    column: (index) => `Resposta ${index}`,
    temperature: (value) => `Temperatura ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Semente ${value}`,
    add: "Adicionar uma resposta",
    remove: (index) => `Remover a resposta ${index}`,
    start: "Comparar",
    keep: "Ficar com esta",
    merge: "Combinar numa só resposta",
    stop: (index) => `Parar a resposta ${index}`,
    stopAll: "Parar todas",
  },

  prompts: {
    title: "Prompts guardados",
    search: "Procurar um prompt",
    none: "Nenhum prompt encontrado.",
    empty: "Ainda não há prompts guardados. Guarde um texto com que costuma começar mensagens: “/” numa mensagem vazia passa a mostrá-lo aqui.",
    add: "Novo prompt",
    edit: (name) => `Editar “${name}”`,
    name: "Nome do prompt",
    text: "Texto",
    placeholders: "Os campos entre chavetas duplas, como {{cidade}}, são selecionados para os preencher.",
    remove: "Eliminar prompt",
  },

  files: {
    search: "Procurar um ficheiro",
    none: "Nenhum ficheiro encontrado. Para guardar um ficheiro, use o marcador dele ao anexá-lo.",
    size: (characters) => `${characters} caracteres`,
    remove: (name) => `Eliminar ${name}`,
    delete: "Eliminar",
    confirm: "Eliminar este ficheiro dos seus ficheiros? As conversas que o contêm não mudam.",
  },

  find: {
    title: "Localizar nesta conversa",
    next: "Ocorrência seguinte",
    previous: "Ocorrência anterior",
    at: (at, total) => `${at} de ${total}`,
    none: "Não encontrado",
  },

  queue: {
    title: "Mensagem na fila",
    waiting: "Na fila. Será enviada quando a resposta terminar.",
    now: "Enviar agora",
    nowTitle: "Interrompe a resposta e mantém o texto dela",
    held: "Ainda não enviada: a resposta foi interrompida, ou terminou enquanto não esteve aqui.",
    files: (count) => plural(count, { one: `${count} ficheiro`, other: `${count} ficheiros` }),
  },

  reading: {
    progress: (done, total) => `A ler a conversa: ${done} de ${total} tokens`,
    left: (time) => `faltam cerca de ${time}`,
  },

  regenerate: {
    title: "Gerar novamente com outras definições",
    note: "Estas definições aplicam-se apenas a esta resposta. Um campo de amostragem vazio usa a definição da conversa; se o prompt de sistema estiver vazio, a resposta não terá nenhum.",
    start: "Gerar novamente",
  },
};
