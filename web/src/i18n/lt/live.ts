import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("lt");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Išjungta.",
  full: "Pilna: naujų blokų kol kas nepriima.",
  unused: "Atsako netinkamai ir laikinai nenaudojama.",
  refusing: "Naujų blokų nebepriima. Skaitymas veikia toliau.",
  slow: "Lėta: blokai laukia įrašymo.",
  other: "Sutrikimas. Išsamiau žr. serverio žurnale.",
};

/** Lithuanian texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Ką veikia visas serveris, sekundė po sekundės. Diagramos rodo iki penkių minučių.",
  oneMemory: "Įrenginio atmintis ir CPU atmintis čia yra jo RAM dalys.",
  states: {
    connecting: "Jungiamasi…",
    live: "Tiesiogiai",
    away: "Serveris neatsako. Statistika atsinaujins savaime.",
  },
  starting: "Statistika pasirodys, kai tik modelis bus parengtas.",
  refused: "Tai viso serverio statistika.",
  refusedTodo: "Norėdami ją matyti, prisijunkite su administratoriaus raktu.",
  generated: "Sugeneruota",
  prompts: "Raginimai",
  running: "Vykdoma",
  waiting: "Laukia",
  batch: "Paketo dydis",
  tokensPerSecond: "žetonų/s",
  requests: "Užklausos",
  requestsUnit: "užklausos",
  blocks: "blokų/s",
  perStep: "per žingsnį",
  computed: "Apskaičiuota",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "dabar",
  used: (used, capacity) => `${used} iš ${capacity}`,
  usedOnly: (used) => `${used}, be ribos`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Užimtumas",
  hitRate: "Pataikymo dalis",
  hitRateNote: "Kokia dalis raginimų žetonų, ieškotų šiame lygyje per pastarąją minutę, rasta",
  evictions: "Išstūmimai",
  blocksPerSecond: (blocks) => `${blocks} blokų/s`,
  byPerson: "Pagal naudotoją",
  others: "kiti",
  shared: "bendra visiems",
  in: "Į vidų",
  out: "Į išorę",
  traffic: (tier) => `${tier}, į vidų ir į išorę`,
  connection: "Ryšys",
  connections: { closed: "veikia", open: "po klaidų nenaudojamas", "half-open": "bandomas iš naujo" },
  replicas: "Kopijos",
  replica: (index) => `Kopija ${index}`,
  replicaStates: {
    ok: "veikia",
    starting: "paleidžiama",
    failed: "sugedo",
  },
  replicaAnswers: (count) => plural(count, { one: `${count} atsakymas`, few: `${count} atsakymai`, other: `${count} atsakymų` }),
  replicaRestarts: (count) =>
    plural(count, { one: `${count} paleidimas iš naujo`, few: `${count} paleidimai iš naujo`, other: `${count} paleidimų iš naujo` }),
  routes: "Paskirstytos užklausos",
  routesUnit: "per sekundę",
  predicted: "Pirmasis žetonas, prognozė / faktas",
  predictedNote: "Vidutinis laikas nuo kopijos pasirinkimo iki pirmojo žetono per pastarąją minutę",
  takeovers: "Perimti atsakymai",
  table: "Diagramos kaip lentelė",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Rodiklis",
    now: "Dabar",
    mean: "Vidurkis",
    most: "Didžiausia",
  },
};
