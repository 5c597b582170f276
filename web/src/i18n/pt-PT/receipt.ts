import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("pt-PT");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Tudo foi reutilizado, exceto o último token, que é sempre calculado.",
  never_seen: "Tanto quanto o servidor sabe, o resto nunca tinha sido calculado.",
  template_changed: "O prompt de sistema, o template de chat ou o tokenizador é diferente do da vez anterior.",
  messages_left_out: "Desde esta mensagem, o prompt deixou de conter as primeiras mensagens da conversa, ou voltou a contê-las.",
  evicted: "O resto estava calculado, mas foi removido da cache.",
  expired: "O resto estava calculado, mas ficou demasiado tempo sem ser utilizado e expirou.",
  computed_otherwise: "O resto estava calculado, mas com outra versão do Ebb, outro modelo ou outra forma de calcular.",
  rejected: "O resto estava calculado, mas os dados estão danificados, pertencem a outro modelo ou não foram escritos com a chave deste servidor.",
  breaker_open: "O resto estava calculado, mas um nível da cache não responde e, de momento, não é utilizado.",
  not_worth_loading: "O resto estava calculado, mas calculá-lo de novo deve ser mais rápido.",
  not_brought: "O resto estava calculado, mas não foi possível carregá-lo: não havia espaço na memória da CPU ou a cópia para o dispositivo falhou.",
  partial_block: "O resto estava calculado, mas não enche um bloco inteiro. Só os blocos inteiros são mantidos com certeza.",
  off: "O servidor corre com --no-prefix-cache e não reutiliza nada.",
};

/** European Portuguese texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `${tokens} calculados`,
  first: (tokens, total, from) => `${tokens} de ${total} tokens (${from})`,
  other: (tokens, from) => `${tokens} (${from})`,
  firstToken: (time) => `primeiro token em ${time}`,
  insteadOf: (time) => ` em vez de cerca de ${time}`,
  speed: (tokens) => `${tokens} tokens/s`,
  prompt: "Prompt",
  recomputed: "Calculados",
  typed: (from) => `Restaurados enquanto escrevia (${from})`,
  phases: {
    queue: "Na fila",
    lookup: "Consulta da cache",
    load: "Carregamento dos blocos",
    prefill: "Cálculo",
  },
  timeToFirstToken: "Tempo até ao primeiro token",
  answer: "Resposta",
  form: "Formato exigido",
  forms: { valid: "respeitado", invalid: "não respeitado", unchecked: "não verificado" },
  rate: "Velocidade",
  total: "Total",
  cost: "Custo",
  why: "Porque é que não foi reutilizado mais?",
  looking: "A carregar a explicação…",
  failed: "Não foi possível carregar a explicação.",
  reusedAll: (until) => `Todos os ${until} tokens em cache foram reutilizados; o resto é novo.`,
  reused: (until, reusable) => `Foram reutilizados ${until} de ${reusable} tokens em cache.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Avançado",
  leftOut: "Mensagens deixadas de fora",
  diverges: (at) => `A partir do token ${at}, este prompt é diferente:`,
  goesOn: (at) => `Tudo até ao token ${at} estava em cache. Depois veio:`,
  here: "aqui",
  before: "antes",
  end: "(fim)",
  verified: (count, text) =>
    plural(count, {
      one: `${text} bloco de um nível inferior foi verificado.`,
      other: `${text} blocos de níveis inferiores foram verificados.`,
    }),
  removedLines: (names) => `Removido para manter o prompt de sistema estável: ${names}`,
  movedLines: (names) => `Movido para a primeira mensagem para manter o prompt de sistema estável: ${names}`,

  promptLines: {
    "claude-code-billing-header": "o cabeçalho de faturação do Claude Code",
    "claude-code-git-status": "o estado do Git do Claude Code",
    "todays-date": "a data de hoje",
    "current-date": "a data atual",
    "current-date-and-time": "a data e a hora",
    "goose-date": "a data do goose",
    "kimi-cli-date": "a data do Kimi CLI",
    "home-assistant-clock": "o relógio do Home Assistant",
    "session-id": "o ID da sessão",
    "removed-lines": "as linhas da definição removed-lines",
    "moved-lines": "as linhas da definição moved-lines",
  },
};
