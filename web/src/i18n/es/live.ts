import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";

const plural = pluralsOf("es");

/** States of a tier. */
const STATES: Record<TierState, string> = {
  off: "Desactivado.",
  full: "Lleno: de momento no acepta más bloques.",
  unused: "No responde correctamente y de momento no se usa.",
  refusing: "Rechaza las escrituras. Sus bloques aún se pueden leer.",
  slow: "Lento: hay bloques a la espera de escribirse.",
  other: "Con problemas. El registro del servidor da más detalles.",
};

/** Spanish texts for the view of live numbers. */
export const texts: LiveTexts = {
  lead: "Lo que hace todo el servidor, segundo a segundo. Los gráficos muestran hasta cinco minutos.",
  states: {
    connecting: "Conectando…",
    live: "En tiempo real",
    away: "El servidor no responde. Las métricas se reanudarán automáticamente.",
  },
  starting: "Las métricas aparecerán en cuanto el modelo esté listo.",
  refused: "Estas son las métricas de todo el servidor.",
  refusedTodo: "Inicia sesión con una clave de administrador para verlas.",
  generated: "Generados",
  prompts: "Prompts",
  running: "En curso",
  waiting: "En espera",
  batch: "Tamaño del lote",
  tokensPerSecond: "tokens/s",
  requests: "Solicitudes",
  requestsUnit: "solicitudes",
  blocks: "bloques/s",
  perStep: "por paso",
  computed: "Calculados",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "ahora",
  used: (used, capacity) => `${used} de ${capacity}`,
  usedOnly: (used) => `${used}, sin límite`,
  state: (_said, state) => STATES[state],
  occupancy: "Ocupación",
  hitRate: "Tasa de aciertos",
  hitRateNote: "Proporción de tokens de prompts buscados en este nivel durante el último minuto que se encontraron",
  evictions: "Expulsiones",
  blocksPerSecond: (blocks) => `${blocks} bloques/s`,
  byTenant: "Por inquilino",
  others: "otros",
  shared: "compartido por todos",
  in: "Entrada",
  out: "Salida",
  traffic: (tier) => `${tier}, entrada y salida`,
  breaker: "Disyuntor",
  breakers: {
    closed: "cerrado",
    open: "abierto: sin uso",
    "half-open": "semiabierto: a prueba",
  },
  replicas: "Réplicas",
  replica: (index) => `Réplica ${index}`,
  replicaStates: {
    ok: "en servicio",
    starting: "iniciándose",
    failed: "con fallo",
  },
  replicaAnswers: (count) => plural(count, { one: `${count} respuesta`, other: `${count} respuestas` }),
  replicaRestarts: (count) => plural(count, { one: `${count} reinicio`, other: `${count} reinicios` }),
  routes: "Solicitudes repartidas",
  routesUnit: "por segundo",
  predicted: "Primer token, previsto / observado",
  predictedNote: "Tiempo medio desde la elección de la réplica hasta el primer token en el último minuto",
  takeovers: "Respuestas asumidas",
  table: "Los gráficos en forma de tabla",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Métrica",
    now: "Ahora",
    mean: "Media",
    most: "Máximo",
  },
};
