import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("nb");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Slått av.",
  full: "Fullt: Tar ikke imot flere blokker akkurat nå.",
  unused: "Svarer ikke som det skal og brukes midlertidig ikke.",
  refusing: "Tar ikke imot flere blokker. Lesing virker fortsatt.",
  slow: "Tregt: Blokker venter på å bli skrevet.",
  other: "Forstyrret. Det står mer i loggen til serveren.",
};

/** Norwegian Bokmål texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Hva hele serveren gjør, sekund for sekund. Diagrammene viser opptil fem minutter.",
  oneMemory: "Enhetsminne og CPU-minne er her begge en del av maskinens RAM.",
  states: {
    connecting: "Kobler til…",
    live: "Direkte",
    away: "Serveren svarer ikke. Tallene fortsetter av seg selv.",
  },
  starting: "Tallene vises så snart modellen er klar.",
  refused: "Dette er tallene for hele serveren.",
  refusedTodo: "Logg inn med en administratornøkkel for å se dem.",
  generated: "Generert",
  prompts: "Ledetekster",
  running: "Kjører",
  waiting: "Venter",
  batch: "Batchstørrelse",
  tokensPerSecond: "tokens/s",
  requests: "Forespørsler",
  requestsUnit: "forespørsler",
  blocks: "blokker/s",
  perStep: "per trinn",
  computed: "Beregnet",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "nå",
  used: (used, capacity) => `${used} av ${capacity}`,
  usedOnly: (used) => `${used}, ingen grense`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Utnyttelse",
  hitRate: "Treffrate",
  hitRateNote: "Andelen av tokens i ledetekster som ble slått opp i nivået det siste minuttet, og som fantes der",
  evictions: "Fortrengninger",
  blocksPerSecond: (blocks) => `${blocks} blokker/s`,
  byPerson: "Per person",
  others: "andre",
  shared: "deles av alle",
  in: "Inn",
  out: "Ut",
  traffic: (tier) => `${tier}, inn og ut`,
  connection: "Tilkobling",
  connections: { closed: "virker", open: "brukes ikke etter feil", "half-open": "prøves på nytt" },
  replicas: "Replikaer",
  replica: (index) => `Replika ${index}`,
  replicaStates: {
    ok: "i drift",
    starting: "starter",
    failed: "ute av drift",
  },
  replicaAnswers: (count) => `${count} svar`,
  replicaRestarts: (count) => plural(count, { one: "1 omstart", other: `${count} omstarter` }),
  routes: "Fordelte forespørsler",
  routesUnit: "per sekund",
  predicted: "Første token, forventet / målt",
  predictedNote: "Gjennomsnittlig tid fra valg av replika til første token, det siste minuttet",
  takeovers: "Overtatte svar",
  table: "Diagrammene som tabell",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Måling",
    now: "Nå",
    mean: "Gjennomsnitt",
    most: "Maksimum",
  },
};
