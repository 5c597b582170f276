import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("ca");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Desactivat.",
  full: "Ple: ara mateix no accepta més blocs.",
  unused: "No respon correctament i ara mateix no es fa servir.",
  refusing: "Rebutja les escriptures. Els blocs encara es poden llegir.",
  slow: "Lent: hi ha blocs que esperen que s’escriguin.",
  other: "Amb problemes. El registre del servidor en té els detalls.",
};

/** Catalan texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Què fa tot el servidor, segon a segon. Els gràfics mostren fins a cinc minuts.",
  oneMemory: "Aquí la memòria del dispositiu i la memòria de la CPU són totes dues part de la RAM.",
  states: {
    connecting: "S’està connectant…",
    live: "En temps real",
    away: "El servidor no respon. Les mètriques es reprendran automàticament.",
  },
  starting: "Les mètriques apareixen tan bon punt el model està a punt.",
  refused: "Aquestes són les mètriques de tot el servidor.",
  refusedTodo: "Inicia la sessió amb una clau d’administrador per veure-les.",
  generated: "Generats",
  prompts: "Indicacions",
  running: "En execució",
  waiting: "En espera",
  batch: "Mida del lot",
  tokensPerSecond: "tokens/s",
  requests: "Peticions",
  requestsUnit: "peticions",
  blocks: "blocs/s",
  perStep: "per pas",
  computed: "Calculats",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "ara",
  used: (used, capacity) => `${used} de ${capacity}`,
  usedOnly: (used) => `${used}, sense límit`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Ocupació",
  hitRate: "Taxa d’encerts",
  hitRateNote: "Dels tokens d’indicacions cercats en aquest nivell durant l’últim minut, la part que hi era",
  evictions: "Expulsions",
  blocksPerSecond: (blocks) => `${blocks} blocs/s`,
  byPerson: "Per persona",
  others: "altres",
  shared: "compartit per tothom",
  in: "Entrada",
  out: "Sortida",
  traffic: (tier) => `${tier}, entrada i sortida`,
  connection: "Connexió",
  connections: { closed: "funciona", open: "no s’usa després d’errors", "half-open": "s’està tornant a provar" },
  replicas: "Rèpliques",
  replica: (index) => `Rèplica ${index}`,
  replicaStates: {
    ok: "en servei",
    starting: "s’està iniciant",
    failed: "ha fallat",
  },
  replicaAnswers: (count) => plural(count, { one: `${count} resposta`, other: `${count} respostes` }),
  replicaRestarts: (count) => plural(count, { one: `${count} reinici`, other: `${count} reinicis` }),
  routes: "Peticions distribuïdes",
  routesUnit: "per segon",
  predicted: "Primer token, previst / observat",
  predictedNote: "Temps mitjà des de la tria de la rèplica fins al primer token, durant l’últim minut",
  takeovers: "Respostes assumides",
  table: "Els gràfics en forma de taula",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Mètrica",
    now: "Ara",
    mean: "Mitjana",
    most: "Màxim",
  },
};
