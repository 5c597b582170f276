import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";

const plural = pluralsOf("pt-BR");

/** Brazilian Portuguese texts for the answer tools. */
export const texts: AnswerTexts = {
  edit: {
    field: "Resposta editada",
    note: "A próxima mensagem continua a partir do seu texto. A original é mantida como versão.",
  },

  rating: {
    field: "O que deu errado?",
    note: "Opcional. Seu comentário é salvo com a resposta.",
  },

  compare: {
    title: "Comparar respostas",
    note: "Todas as respostas são escritas ao mesmo tempo. Com as mesmas configurações, elas ainda podem ser diferentes, a menos que uma semente seja definida.",
    kept: "Cada resposta fica na conversa como uma versão.",
    column: (index) => `Resposta ${index}`,
    temperature: (value) => `Temperatura ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Semente ${value}`,
    add: "Adicionar uma resposta",
    remove: (index) => `Remover a resposta ${index}`,
    start: "Comparar",
    keep: "Ficar com esta",
    merge: "Mesclar em uma resposta",
    stop: (index) => `Parar a resposta ${index}`,
    stopAll: "Parar todas",
  },

  prompts: {
    title: "Prompts salvos",
    search: "Buscar um prompt",
    none: "Nenhum prompt encontrado.",
    empty: "Ainda não há prompts salvos. Salve um texto com que você costuma começar mensagens: “/” em uma mensagem vazia vai mostrá-lo aqui.",
    add: "Novo prompt",
    edit: (name) => `Editar “${name}”`,
    name: "Nome do prompt",
    text: "Texto",
    placeholders: "Campos entre chaves duplas, como {{cidade}}, são selecionados para você preencher.",
    remove: "Excluir prompt",
  },

  files: {
    search: "Buscar um arquivo",
    none: "Nenhum arquivo encontrado. Para salvar um arquivo, clique no marcador dele ao anexá-lo.",
    size: (characters) => `${characters} caracteres`,
    remove: (name) => `Excluir ${name}`,
    delete: "Excluir",
    confirm: "Excluir este arquivo dos seus arquivos? As conversas que o contêm não mudam.",
  },

  find: {
    title: "Localizar neste chat",
    next: "Próxima ocorrência",
    previous: "Ocorrência anterior",
    at: (at, total) => `${at} de ${total}`,
    none: "Não encontrado",
  },

  queue: {
    title: "Mensagem na fila",
    waiting: "Na fila. Será enviada quando a resposta terminar.",
    now: "Enviar agora",
    nowTitle: "Interrompe a resposta e mantém o texto dela",
    held: "Ainda não enviada: a resposta foi interrompida, ou terminou enquanto você não estava aqui.",
    files: (count) => plural(count, { one: `${count} arquivo`, other: `${count} arquivos` }),
  },

  reading: {
    progress: (done, total) => `Lendo a conversa: ${done} de ${total} tokens`,
    left: (time) => `faltam cerca de ${time}`,
  },

  models: {
    title: "Modelo",
    menu: (name) => `Modelo: ${name}`,
    states: { loaded: "Na memória", unloaded: "Carregado quando você pergunta", draining: "Sendo descarregado", failed: "Não pôde ser carregado" },
    reads: (tokens) => `precisa ler ${tokens} desta conversa`,
    known: "já leu esta conversa",
    tooLong: "esta conversa é longa demais para ele",
    noAnswers: "só cria embeddings e ordena textos; não pode responder",
  },

  regenerate: {
    title: "Gerar novamente com outras configurações",
    note: "Estas configurações valem só para esta resposta. Um campo de amostragem vazio usa a configuração da conversa; se o prompt do sistema estiver vazio, a resposta não terá nenhum.",
    start: "Gerar novamente",
  },
};
