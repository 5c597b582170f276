import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("pt-PT");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Desativado.",
  full: "Cheio: de momento, não aceita mais blocos.",
  unused: "Não responde corretamente e, de momento, não é utilizado.",
  refusing: "Recusa a escrita. Os blocos ainda podem ser lidos.",
  slow: "Lento: há blocos à espera de serem escritos.",
  other: "Com problemas. O registo do servidor tem os detalhes.",
};

/** European Portuguese texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "O que todo o servidor está a fazer, segundo a segundo. Os gráficos mostram até cinco minutos.",
  oneMemory: "Aqui, a memória do dispositivo e a memória da CPU fazem ambas parte da RAM da máquina.",
  states: {
    connecting: "A ligar…",
    live: "Em tempo real",
    away: "O servidor não está a responder. As métricas são retomadas automaticamente.",
  },
  starting: "As métricas aparecem assim que o modelo estiver pronto.",
  refused: "Estas são as métricas de todo o servidor.",
  refusedTodo: "Inicie sessão com uma chave de administrador para as ver.",
  generated: "Gerados",
  prompts: "Prompts",
  running: "Em execução",
  waiting: "Em espera",
  batch: "Tamanho do lote",
  tokensPerSecond: "tokens/s",
  requests: "Pedidos",
  requestsUnit: "pedidos",
  blocks: "blocos/s",
  perStep: "por passo",
  computed: "Calculados",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "agora",
  used: (used, capacity) => `${used} de ${capacity}`,
  usedOnly: (used) => `${used}, sem limite`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Ocupação",
  hitRate: "Taxa de acerto",
  hitRateNote: "Dos tokens de prompts procurados neste nível no último minuto, a parte que ele tinha",
  evictions: "Remoções",
  blocksPerSecond: (blocks) => `${blocks} blocos/s`,
  byPerson: "Por pessoa",
  others: "outros",
  shared: "partilhado por todos",
  in: "Entrada",
  out: "Saída",
  traffic: (tier) => `${tier}, entrada e saída`,
  connection: "Ligação",
  connections: { closed: "a funcionar", open: "não usada após erros", "half-open": "a ser testada de novo" },
  replicas: "Réplicas",
  replica: (index) => `Réplica ${index}`,
  replicaStates: {
    ok: "em serviço",
    starting: "a iniciar",
    failed: "com falha",
  },
  replicaAnswers: (count) => plural(count, { one: `${count} resposta`, other: `${count} respostas` }),
  replicaRestarts: (count) => plural(count, { one: `${count} reinício`, other: `${count} reinícios` }),
  routes: "Pedidos distribuídos",
  routesUnit: "por segundo",
  predicted: "Primeiro token, previsto / observado",
  predictedNote: "Tempo médio entre a escolha da réplica e o primeiro token, no último minuto",
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
