import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sk");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Vypnuté.",
  full: "Plné: ďalšie bloky sa zatiaľ neprijímajú.",
  unused: "Neodpovedá správne a dočasne sa nepoužíva.",
  refusing: "Nové bloky sa neprijímajú. Čítať možno naďalej.",
  slow: "Pomalé: bloky čakajú na zápis.",
  other: "Porucha. Podrobnosti nájdete v denníku servera.",
};

/** Slovak texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Čo robí celý server, sekundu po sekunde. Grafy ukazujú až päť minút.",
  oneMemory: "Pamäť zariadenia aj pamäť CPU sú tu súčasťou jeho RAM.",
  states: {
    connecting: "Pripája sa…",
    live: "Naživo",
    away: "Server neodpovedá. Štatistiky sa samy obnovia.",
  },
  starting: "Štatistiky sa objavia, hneď ako bude model pripravený.",
  refused: "Toto sú štatistiky celého servera.",
  refusedTodo: "Ak ich chcete vidieť, prihláste sa kľúčom správcu.",
  generated: "Vygenerované",
  prompts: "Prompty",
  running: "Prebieha",
  waiting: "Čaká",
  batch: "Veľkosť dávky",
  tokensPerSecond: "tokenov/s",
  requests: "Požiadavky",
  requestsUnit: "požiadavky",
  blocks: "blokov/s",
  perStep: "na krok",
  computed: "Vypočítané",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "teraz",
  used: (used, capacity) => `${used} z ${capacity}`,
  usedOnly: (used) => `${used}, bez limitu`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Zaplnenie",
  hitRate: "Úspešnosť",
  hitRateNote: "Aká časť tokenov promptov hľadaných na tejto úrovni za poslednú minútu sa našla",
  evictions: "Vytlačenia",
  blocksPerSecond: (blocks) => `${blocks} blokov/s`,
  byPerson: "Podľa používateľa",
  others: "ostatní",
  shared: "spoločné pre všetkých",
  in: "Dnu",
  out: "Von",
  traffic: (tier) => `${tier}, dnu a von`,
  connection: "Spojenie",
  connections: { closed: "funguje", open: "po chybách sa nepoužíva", "half-open": "znova sa skúša" },
  replicas: "Repliky",
  replica: (index) => `Replika ${index}`,
  replicaStates: {
    ok: "funguje",
    starting: "spúšťa sa",
    failed: "zlyhala",
  },
  replicaAnswers: (count) => plural(count, { one: "1 odpoveď", few: `${count} odpovede`, other: `${count} odpovedí` }),
  replicaRestarts: (count) => plural(count, { one: "1 reštart", few: `${count} reštarty`, other: `${count} reštartov` }),
  routes: "Rozdelené požiadavky",
  routesUnit: "za sekundu",
  predicted: "Prvý token, odhad / skutočnosť",
  predictedNote: "Priemerný čas od výberu repliky po prvý token za poslednú minútu",
  takeovers: "Prevzaté odpovede",
  table: "Grafy ako tabuľka",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Ukazovateľ",
    now: "Teraz",
    mean: "Priemer",
    most: "Maximum",
  },
};
