import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("af");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Af.",
  full: "Vol: aanvaar tans nie meer blokke nie.",
  unused: "Reageer nie reg nie en word tans nie gebruik nie.",
  refusing: "Aanvaar nie skryfbewerkings nie. Blokke kan steeds gelees word.",
  slow: "Stadig: blokke wag om geskryf te word.",
  other: "Ondervind probleme. Die bediener se loglêer het die besonderhede.",
};

/** Afrikaans texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Wat die hele bediener doen, sekonde vir sekonde. Die grafieke wys tot vyf minute.",
  oneMemory: "Toestelgeheue en CPU-geheue is hier albei deel van die masjien se RAM.",
  states: {
    connecting: "Koppel tans…",
    live: "Regstreeks",
    away: "Die bediener reageer nie. Die syfers sal vanself weer begin.",
  },
  starting: "Die syfers verskyn sodra die model gereed is.",
  refused: "Dit is die syfers van die hele bediener.",
  refusedTodo: "Meld aan met ’n administrateursleutel om hulle te sien.",
  generated: "Gegenereer",
  prompts: "Prompts",
  running: "Loop tans",
  waiting: "Wag",
  batch: "Bondelgrootte",
  tokensPerSecond: "tokens/s",
  requests: "Versoeke",
  requestsUnit: "versoeke",
  blocks: "blokke/s",
  perStep: "per stap",
  computed: "Bereken",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "nou",
  used: (used, capacity) => `${used} van ${capacity}`,
  usedOnly: (used) => `${used}, geen limiet`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Besetting",
  hitRate: "Trefkoers",
  hitRateNote: "Van die prompttokens wat oor die laaste minuut in hierdie vlak gesoek is, die deel wat daar was",
  evictions: "Verdringings",
  blocksPerSecond: (blocks) => `${blocks} blokke/s`,
  byPerson: "Per persoon",
  others: "ander",
  shared: "deur almal gedeel",
  in: "In",
  out: "Uit",
  traffic: (tier) => `${tier}, in en uit`,
  connection: "Verbinding",
  connections: { closed: "werk", open: "ná foute nie gebruik nie", "half-open": "word weer getoets" },
  replicas: "Replikas",
  replica: (index) => `Replika ${index}`,
  replicaStates: {
    ok: "in diens",
    starting: "begin tans",
    failed: "het misluk",
  },
  replicaAnswers: (count) => plural(count, { one: `${count} antwoord`, other: `${count} antwoorde` }),
  replicaRestarts: (count) => plural(count, { one: `${count} keer herbegin`, other: `${count} keer herbegin` }),
  routes: "Versoeke versprei",
  routesUnit: "per sekonde",
  predicted: "Eerste token, voorspel / gemeet",
  predictedNote: "Gemiddelde tyd van die keuse van die replika tot by die eerste token, oor die laaste minuut",
  takeovers: "Antwoorde oorgeneem",
  table: "Die grafieke as ’n tabel",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Maatstaf",
    now: "Nou",
    mean: "Gemiddeld",
    most: "Maksimum",
  },
};
