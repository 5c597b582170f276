import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("gl");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Desactivado.",
  full: "Cheo: agora mesmo non acepta máis bloques.",
  unused: "Non responde correctamente e agora mesmo non se usa.",
  refusing: "Rexeita as escrituras. Os bloques aínda se poden ler.",
  slow: "Lento: hai bloques agardando a que se escriban.",
  other: "Con problemas. O rexistro do servidor ten os detalles.",
};

/** Galician texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "O que está facendo todo o servidor, segundo a segundo. As gráficas mostran ata cinco minutos.",
  oneMemory: "Aquí a memoria do dispositivo e a memoria da CPU forman parte da súa RAM.",
  states: {
    connecting: "Conectando…",
    live: "En tempo real",
    away: "O servidor non responde. As métricas volverán automaticamente.",
  },
  starting: "As métricas aparecen en canto o modelo estea listo.",
  refused: "Estas son as métricas de todo o servidor.",
  refusedTodo: "Inicia sesión cunha clave de administrador para velas.",
  generated: "Xerados",
  prompts: "Prompts",
  running: "En execución",
  waiting: "En espera",
  batch: "Tamaño do lote",
  tokensPerSecond: "tokens/s",
  requests: "Solicitudes",
  requestsUnit: "solicitudes",
  blocks: "bloques/s",
  perStep: "por paso",
  computed: "Calculados",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "agora",
  used: (used, capacity) => `${used} de ${capacity}`,
  usedOnly: (used) => `${used}, sen límite`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Ocupación",
  hitRate: "Taxa de acertos",
  hitRateNote: "Dos tokens de prompts buscados neste nivel no último minuto, a parte que se atopou",
  evictions: "Expulsións",
  blocksPerSecond: (blocks) => `${blocks} bloques/s`,
  byPerson: "Por persoa",
  others: "outros",
  shared: "compartido por todos",
  in: "Entrada",
  out: "Saída",
  traffic: (tier) => `${tier}, entrada e saída`,
  connection: "Conexión",
  connections: { closed: "funciona", open: "sen uso tras erros", "half-open": "estase a probar de novo" },
  replicas: "Réplicas",
  replica: (index) => `Réplica ${index}`,
  replicaStates: {
    ok: "en servizo",
    starting: "iniciándose",
    failed: "fallou",
  },
  replicaAnswers: (count) => plural(count, { one: `${count} resposta`, other: `${count} respostas` }),
  replicaRestarts: (count) => plural(count, { one: `${count} reinicio`, other: `${count} reinicios` }),
  routes: "Solicitudes distribuídas",
  routesUnit: "por segundo",
  predicted: "Primeiro token, previsto / observado",
  predictedNote: "Tempo medio desde a elección da réplica ata o primeiro token, no último minuto",
  takeovers: "Respostas asumidas",
  table: "As gráficas en forma de táboa",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Métrica",
    now: "Agora",
    mean: "Media",
    most: "Máximo",
  },
};
