import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("eu");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Desgaituta.",
  full: "Beteta: une honetan ez du bloke gehiago onartzen.",
  unused: "Ez du ondo erantzuten, eta une honetan ez da erabiltzen.",
  refusing: "Ez du idazketarik onartzen. Blokeak irakur daitezke oraindik.",
  slow: "Motela: blokeak idatziak izateko zain daude.",
  other: "Arazoak ditu. Zerbitzariaren erregistroan daude xehetasunak.",
};

/** Basque texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Zerbitzari osoa zertan ari den, segundoz segundo. Grafikoek bost minutu erakusten dituzte gehienez.",
  oneMemory: "Hemen gailuaren memoria eta CPUaren memoria makinaren RAMaren zati dira biak.",
  states: {
    connecting: "Konektatzen…",
    live: "Zuzenean",
    away: "Zerbitzariak ez du erantzuten. Zenbakiak beren kabuz itzuliko dira.",
  },
  starting: "Zenbakiak eredua prest dagoenean agertuko dira.",
  refused: "Zerbitzari osoaren zenbakiak dira hauek.",
  refusedTodo: "Ikusteko, hasi saioa administratzaile-gako batekin.",
  generated: "Sortuta",
  prompts: "Promptak",
  running: "Exekutatzen",
  waiting: "Zain",
  batch: "Sortaren tamaina",
  tokensPerSecond: "token/s",
  requests: "Eskaerak",
  requestsUnit: "eskaera",
  blocks: "bloke/s",
  perStep: "eskaera/urrats",
  computed: "Kalkulatuta",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "orain",
  used: (used, capacity) => `${used} / ${capacity}`,
  usedOnly: (used) => `${used}, mugarik gabe`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Okupazioa",
  hitRate: "Asmatze-tasa",
  hitRateNote: "Azken minutuan maila honetan bilatutako prompt-tokenetatik, bertan zegoen zatia",
  evictions: "Kanporatzeak",
  blocksPerSecond: (blocks) => `${blocks} bloke/s`,
  byPerson: "Pertsonaka",
  others: "besteak",
  shared: "guztiek partekatua",
  in: "Sarrera",
  out: "Irteera",
  traffic: (tier) => `${tier}, sarrera eta irteera`,
  connection: "Konexioa",
  connections: { closed: "badabil", open: "ez da erabiltzen, erroreen ondoren", "half-open": "berriro probatzen ari da" },
  replicas: "Erreplikak",
  replica: (index) => `Erreplika ${index}`,
  replicaStates: {
    ok: "zerbitzuan",
    starting: "abiarazten",
    failed: "huts egin du",
  },
  replicaAnswers: (count) => plural(count, { one: `erantzun ${count}`, other: `${count} erantzun` }),
  replicaRestarts: (count) => plural(count, { one: `berrabiarazte ${count}`, other: `${count} berrabiarazte` }),
  routes: "Banatutako eskaerak",
  routesUnit: "eskaera/s",
  predicted: "Lehen tokena, aurreikusia / neurtua",
  predictedNote: "Erreplika aukeratzen denetik lehen tokena iritsi arteko batez besteko denbora, azken minutuan",
  takeovers: "Bere gain hartutako erantzunak",
  table: "Grafikoak taula gisa",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Neurria",
    now: "Orain",
    mean: "Batez bestekoa",
    most: "Gehienekoa",
  },
};
