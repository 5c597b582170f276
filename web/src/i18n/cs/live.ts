import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("cs");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Vypnuto.",
  full: "Plno: další bloky se zatím nepřijímají.",
  unused: "Neodpovídá správně a dočasně se nepoužívá.",
  refusing: "Nové bloky se nepřijímají. Číst lze dál.",
  slow: "Pomalé: bloky čekají na zápis.",
  other: "Porucha. Podrobnosti najdete v protokolu serveru.",
};

/** Czech texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Co dělá celý server, sekundu po sekundě. Grafy ukazují až pět minut.",
  oneMemory: "Paměť zařízení i paměť CPU jsou zde součástí jeho RAM.",
  states: {
    connecting: "Připojování…",
    live: "Živě",
    away: "Server neodpovídá. Statistiky se samy obnoví.",
  },
  starting: "Statistiky se objeví, jakmile bude model připraven.",
  refused: "Toto jsou statistiky celého serveru.",
  refusedTodo: "Pro jejich zobrazení se přihlaste klíčem správce.",
  generated: "Vygenerováno",
  prompts: "Prompty",
  running: "Probíhá",
  waiting: "Čeká",
  batch: "Velikost dávky",
  tokensPerSecond: "tokenů/s",
  requests: "Požadavky",
  requestsUnit: "požadavky",
  blocks: "bloků/s",
  perStep: "na krok",
  computed: "Vypočteno",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "teď",
  used: (used, capacity) => `${used} z ${capacity}`,
  usedOnly: (used) => `${used}, bez limitu`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Zaplnění",
  hitRate: "Úspěšnost",
  hitRateNote: "Jaká část tokenů promptů hledaných na této úrovni za poslední minutu se našla",
  evictions: "Vytlačení",
  blocksPerSecond: (blocks) => `${blocks} bloků/s`,
  byPerson: "Podle uživatelů",
  others: "ostatní",
  shared: "společné všem",
  in: "Dovnitř",
  out: "Ven",
  traffic: (tier) => `${tier}, dovnitř a ven`,
  connection: "Spojení",
  connections: { closed: "funguje", open: "po chybách se nepoužívá", "half-open": "znovu se zkouší" },
  replicas: "Repliky",
  replica: (index) => `Replika ${index}`,
  replicaStates: {
    ok: "funguje",
    starting: "spouští se",
    failed: "selhala",
  },
  replicaAnswers: (count) => plural(count, { one: "1 odpověď", few: `${count} odpovědi`, other: `${count} odpovědí` }),
  replicaRestarts: (count) => plural(count, { one: "1 restart", few: `${count} restarty`, other: `${count} restartů` }),
  routes: "Rozdělené požadavky",
  routesUnit: "za sekundu",
  predicted: "První token, odhad / skutečnost",
  predictedNote: "Průměrná doba od výběru repliky do prvního tokenu za poslední minutu",
  takeovers: "Převzaté odpovědi",
  table: "Grafy jako tabulka",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Ukazatel",
    now: "Teď",
    mean: "Průměr",
    most: "Maximum",
  },
};
