import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";

const plural = pluralsOf("pt-BR");

/** Reasons for which no more was reused. */
export const CAUSES: Causes = {
  complete: "Tudo foi reutilizado, menos o último token, que é sempre calculado.",
  never_seen: "Até onde o servidor sabe, o resto nunca tinha sido calculado.",
  template_changed: "O prompt do sistema, o template de chat ou o tokenizador é diferente do da vez anterior.",
  messages_left_out: "Desde esta mensagem, o prompt não contém mais as primeiras mensagens da conversa, ou voltou a contê-las.",
  evicted: "O resto estava calculado, mas foi removido do cache.",
  expired: "O resto estava calculado, mas ficou tempo demais sem uso e expirou.",
  computed_otherwise: "O resto estava calculado, mas com outra versão do Ebb, outro modelo ou outra forma de calcular.",
  rejected: "O resto estava calculado, mas os dados estão danificados, pertencem a outro modelo ou não foram gravados com a chave deste servidor.",
  breaker_open: "O resto estava calculado, mas um nível do cache não responde e não é usado no momento.",
  not_worth_loading: "O resto estava calculado, mas calculá-lo de novo deve ser mais rápido.",
  not_brought: "O resto estava calculado, mas não pôde ser carregado: não havia espaço na memória da CPU ou a cópia para o dispositivo falhou.",
  partial_block: "O resto estava calculado, mas não enche um bloco inteiro. Só blocos inteiros são mantidos com certeza.",
  off: "O servidor roda com --no-prefix-cache e não reutiliza nada.",
};

/** Brazilian Portuguese texts for the details of a receipt. */
export const texts: ReceiptTexts = {
  computed: (tokens) => `${tokens} calculados`,
  first: (tokens, total, from) => `${tokens} de ${total} tokens (${from})`,
  other: (tokens, from) => `${tokens} (${from})`,
  firstToken: (time) => `primeiro token em ${time}`,
  insteadOf: (time) => ` em vez de cerca de ${time}`,
  speed: (tokens) => `${tokens} tokens/s`,
  prompt: "Prompt",
  recomputed: "Calculados",
  typed: (from) => `Restaurados enquanto você digitava (${from})`,
  phases: {
    queue: "Na fila",
    lookup: "Consulta ao cache",
    load: "Carga dos blocos",
    prefill: "Cálculo",
  },
  timeToFirstToken: "Tempo até o primeiro token",
  answer: "Resposta",
  form: "Formato exigido",
  forms: { valid: "respeitado", invalid: "não respeitado", unchecked: "não verificado" },
  rate: "Velocidade",
  total: "Total",
  cost: "Custo",
  why: "Por que não se reutilizou mais?",
  looking: "Carregando a explicação…",
  failed: "Não foi possível carregar a explicação.",
  reusedAll: (until) => `Todos os ${until} tokens em cache foram reutilizados; o resto é novo.`,
  reused: (until, reusable) => `${until} de ${reusable} tokens em cache foram reutilizados.`,
  cause: (_said, cause) => CAUSES[cause] ?? "O log do servidor diz o motivo.",
  advanced: "Avançado",
  leftOut: "Mensagens deixadas de fora",
  diverges: (at) => `No token ${at}, este prompt passa a ser diferente:`,
  goesOn: (at) => `Tudo até o token ${at} estava em cache. Depois veio:`,
  here: "aqui",
  before: "antes",
  end: "(fim)",
  verified: (count, text) => plural(count, { one: `${text} bloco de um nível inferior foi verificado.`, other: `${text} blocos de níveis inferiores foram verificados.` }),
  removedLines: (names) => `Removido para manter o prompt do sistema estável: ${names}`,
  movedLines: (names) => `Movido para a primeira mensagem para manter o prompt do sistema estável: ${names}`,

  promptLines: {
    "claude-code-billing-header": "o cabeçalho de cobrança do Claude Code",
    "claude-code-git-status": "o status do Git do Claude Code",
    "todays-date": "a data de hoje",
    "current-date": "a data atual",
    "current-date-and-time": "a data e a hora",
    "goose-date": "a data do goose",
    "kimi-cli-date": "a data do Kimi CLI",
    "home-assistant-clock": "o relógio do Home Assistant",
    "session-id": "o ID da sessão",
    "removed-lines": "as linhas da configuração removed-lines",
    "moved-lines": "as linhas da configuração moved-lines",
  },
};
