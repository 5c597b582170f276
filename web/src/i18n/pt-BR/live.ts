import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";

const plural = pluralsOf("pt-BR");

/** States of a tier. */
const STATES: Record<TierState, string> = {
  off: "Desativado.",
  full: "Cheio: não aceita mais blocos no momento.",
  unused: "Não responde corretamente e não é usado no momento.",
  refusing: "Recusa gravações. Os blocos ainda podem ser lidos.",
  slow: "Lento: há blocos esperando para serem gravados.",
  other: "Com problemas. O log do servidor tem os detalhes.",
};

/** Brazilian Portuguese texts for the view of live numbers. */
export const texts: LiveTexts = {
  lead: "O que o servidor inteiro está fazendo, segundo a segundo. Os gráficos mostram até cinco minutos.",
  states: {
    connecting: "Conectando…",
    live: "Em tempo real",
    away: "O servidor não está respondendo. As métricas voltarão automaticamente.",
  },
  starting: "As métricas aparecem assim que o modelo estiver pronto.",
  refused: "Estas são as métricas do servidor inteiro.",
  refusedTodo: "Entre com uma chave de administrador para vê-las.",
  generated: "Gerados",
  prompts: "Prompts",
  running: "Em execução",
  waiting: "Em espera",
  batch: "Tamanho do lote",
  tokensPerSecond: "tokens/s",
  requests: "Solicitações",
  requestsUnit: "solicitações",
  blocks: "blocos/s",
  perStep: "por passo",
  computed: "Calculados",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "agora",
  used: (used, capacity) => `${used} de ${capacity}`,
  usedOnly: (used) => `${used}, sem limite`,
  state: (_said, state) => STATES[state],
  occupancy: "Ocupação",
  hitRate: "Taxa de acerto",
  hitRateNote: "Dos tokens de prompts procurados neste nível no último minuto, a parte que ele tinha",
  evictions: "Remoções",
  blocksPerSecond: (blocks) => `${blocks} blocos/s`,
  byTenant: "Por locatário",
  others: "outros",
  shared: "compartilhado por todos",
  in: "Entrada",
  out: "Saída",
  traffic: (tier) => `${tier}, entrada e saída`,
  breaker: "Disjuntor",
  breakers: {
    closed: "fechado",
    open: "aberto: não usado",
    "half-open": "meio aberto: em teste",
  },
  replicas: "Réplicas",
  replica: (index) => `Réplica ${index}`,
  replicaStates: {
    ok: "em serviço",
    starting: "iniciando",
    failed: "com falha",
  },
  replicaAnswers: (count) => plural(count, { one: `${count} resposta`, other: `${count} respostas` }),
  replicaRestarts: (count) => plural(count, { one: `${count} reinício`, other: `${count} reinícios` }),
  routes: "Solicitações distribuídas",
  routesUnit: "por segundo",
  predicted: "Primeiro token, previsto / observado",
  predictedNote: "Tempo médio da escolha da réplica até o primeiro token no último minuto",
  takeovers: "Respostas assumidas",
  table: "Os gráficos em forma de tabela",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Métrica",
    now: "Agora",
    mean: "Média",
    most: "Máximo",
  },
};
