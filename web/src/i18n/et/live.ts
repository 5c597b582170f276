import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("et");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Väljas.",
  full: "Täis: praegu rohkem plokke vastu ei võta.",
  unused: "Ei vasta korralikult ja pole ajutiselt kasutusel.",
  refusing: "Rohkem plokke vastu ei võta. Lugemine jätkub.",
  slow: "Aeglane: plokid ootavad kirjutamist.",
  other: "Esineb viga. Täpsemalt serveri logis.",
};

/** Estonian texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Mida kogu server teeb, sekund sekundi järel. Graafikud näitavad kuni viit minutit.",
  oneMemory: "Nii seadme mälu kui ka CPU mälu on siin osa selle RAM-ist.",
  states: {
    connecting: "Ühendamine…",
    live: "Reaalajas",
    away: "Server ei vasta. Näitajad jätkuvad iseenesest.",
  },
  starting: "Näitajad ilmuvad kohe, kui mudel on valmis.",
  refused: "Need on kogu serveri näitajad.",
  refusedTodo: "Nende nägemiseks logi sisse administraatori võtmega.",
  generated: "Loodud",
  prompts: "Viibad",
  running: "Töös",
  waiting: "Ootel",
  batch: "Partii suurus",
  tokensPerSecond: "tokenit/s",
  requests: "Päringud",
  requestsUnit: "päringut",
  blocks: "plokki/s",
  perStep: "päringut/samm",
  computed: "Arvutatud",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "praegu",
  used: (used, capacity) => `${used} / ${capacity}`,
  usedOnly: (used) => `${used}, piiranguta`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Täituvus",
  hitRate: "Tabamuste osakaal",
  hitRateNote: "Kui suur osa sellelt tasemelt viimase minuti jooksul otsitud viibatokenitest seal olemas oli",
  evictions: "Väljatõrjumised",
  blocksPerSecond: (blocks) => `${blocks} plokki/s`,
  byPerson: "Isikute järgi",
  others: "teised",
  shared: "kõigi ühiskasutuses",
  in: "Sisse",
  out: "Välja",
  traffic: (tier) => `${tier}, sisse ja välja`,
  connection: "Ühendus",
  connections: { closed: "töötab", open: "pärast vigu ei kasutata", "half-open": "proovitakse uuesti" },
  replicas: "Koopiad",
  replica: (index) => `Koopia ${index}`,
  replicaStates: {
    ok: "teenindab",
    starting: "käivitub",
    failed: "tõrge",
  },
  replicaAnswers: (count) => plural(count, { one: "1 vastus", other: `${count} vastust` }),
  replicaRestarts: (count) => plural(count, { one: "1 taaskäivitus", other: `${count} taaskäivitust` }),
  routes: "Saadetud päringud",
  routesUnit: "päringut/s",
  predicted: "Esimene token, prognoos / mõõdetud",
  predictedNote: "Keskmine aeg koopia valimisest esimese tokenini viimase minuti jooksul",
  takeovers: "Ülevõetud vastused",
  table: "Graafikud tabelina",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Näitaja",
    now: "Praegu",
    mean: "Keskmine",
    most: "Suurim",
  },
};
