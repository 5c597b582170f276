import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("ro");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Dezactivat.",
  full: "Plin: momentan nu mai acceptă blocuri.",
  unused: "Nu răspunde corect și momentan nu este folosit.",
  refusing: "Respinge scrierile. Blocurile pot fi citite în continuare.",
  slow: "Lent: blocurile așteaptă să fie scrise.",
  other: "Are probleme. Detaliile sunt în jurnalul serverului.",
};

/** Romanian texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Ce face întregul server, secundă cu secundă. Graficele arată cel mult cinci minute.",
  oneMemory: "Aici, memoria dispozitivului și memoria CPU fac ambele parte din memoria RAM.",
  states: {
    connecting: "Se conectează…",
    live: "În timp real",
    away: "Serverul nu răspunde. Statisticile vor reveni automat.",
  },
  starting: "Statisticile apar imediat ce modelul este pregătit.",
  refused: "Acestea sunt statisticile întregului server.",
  refusedTodo: "Conectează-te cu o cheie de administrator ca să le vezi.",
  generated: "Generate",
  prompts: "Prompturi",
  running: "În execuție",
  waiting: "În așteptare",
  batch: "Dimensiunea lotului",
  tokensPerSecond: "tokenuri/s",
  requests: "Cereri",
  requestsUnit: "cereri",
  blocks: "blocuri/s",
  perStep: "pe pas",
  computed: "Calculate",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "acum",
  used: (used, capacity) => `${used} din ${capacity}`,
  usedOnly: (used) => `${used}, fără limită`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Ocupare",
  hitRate: "Rata de succes",
  hitRateNote: "Dintre tokenurile de prompt căutate în acest nivel în ultimul minut, partea care a fost găsită",
  evictions: "Evacuări",
  blocksPerSecond: (blocks) => `${blocks} blocuri/s`,
  byPerson: "Pe persoană",
  others: "alții",
  shared: "comun tuturor",
  in: "Intrare",
  out: "Ieșire",
  traffic: (tier) => `${tier}, intrare și ieșire`,
  connection: "Conexiune",
  connections: { closed: "funcționează", open: "nefolosită după erori", "half-open": "se încearcă din nou" },
  replicas: "Replici",
  replica: (index) => `Replica ${index}`,
  replicaStates: {
    ok: "în serviciu",
    starting: "pornește",
    failed: "a eșuat",
  },
  replicaAnswers: (count) => plural(count, { one: `${count} răspuns`, few: `${count} răspunsuri`, other: `${count} de răspunsuri` }),
  replicaRestarts: (count) => plural(count, { one: `${count} repornire`, few: `${count} reporniri`, other: `${count} de reporniri` }),
  routes: "Cereri distribuite",
  routesUnit: "pe secundă",
  predicted: "Primul token, estimat / măsurat",
  predictedNote: "Timpul mediu de la alegerea replicii până la primul token, în ultimul minut",
  takeovers: "Răspunsuri preluate",
  table: "Graficele ca tabel",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Indicator",
    now: "Acum",
    mean: "Medie",
    most: "Maxim",
  },
};
