import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("nl");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Uit.",
  full: "Vol: neemt nu geen blokken meer aan.",
  unused: "Reageert niet goed en wordt tijdelijk niet gebruikt.",
  refusing: "Neemt geen blokken meer aan. Lezen kan nog wel.",
  slow: "Traag: blokken wachten tot ze worden weggeschreven.",
  other: "Verstoord. Meer hierover staat in het logboek van de server.",
};

/** Dutch texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Wat de hele server doet, seconde voor seconde. De grafieken tonen maximaal vijf minuten.",
  oneMemory: "Apparaatgeheugen en CPU-geheugen zijn hier allebei deel van het RAM.",
  states: {
    connecting: "Verbinden…",
    live: "Live",
    away: "De server reageert niet. De cijfers gaan vanzelf weer verder.",
  },
  starting: "De cijfers verschijnen zodra het model klaar is.",
  refused: "Dit zijn de cijfers van de hele server.",
  refusedTodo: "Log in met een beheerderssleutel om ze te zien.",
  generated: "Gegenereerd",
  prompts: "Prompts",
  running: "Actief",
  waiting: "Wachtend",
  batch: "Batchgrootte",
  tokensPerSecond: "tokens/s",
  requests: "Verzoeken",
  requestsUnit: "verzoeken",
  blocks: "blokken/s",
  perStep: "per stap",
  computed: "Berekend",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "nu",
  used: (used, capacity) => `${used} van ${capacity}`,
  usedOnly: (used) => `${used}, geen limiet`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Bezetting",
  hitRate: "Hitrate",
  hitRateNote: "Aandeel van de prompttokens die de afgelopen minuut in deze laag zijn gezocht en ook gevonden",
  evictions: "Verdringingen",
  blocksPerSecond: (blocks) => `${blocks} blokken/s`,
  byPerson: "Per persoon",
  others: "overige",
  shared: "gedeeld door iedereen",
  in: "In",
  out: "Uit",
  traffic: (tier) => `${tier}, in en uit`,
  connection: "Verbinding",
  connections: { closed: "werkt", open: "niet gebruikt na fouten", "half-open": "wordt opnieuw geprobeerd" },
  replicas: "Replica’s",
  replica: (index) => `Replica ${index}`,
  replicaStates: {
    ok: "actief",
    starting: "start op",
    failed: "uitgevallen",
  },
  replicaAnswers: (count) => plural(count, { one: "1 antwoord", other: `${count} antwoorden` }),
  replicaRestarts: (count) => plural(count, { one: "1 herstart", other: `${count} herstarts` }),
  routes: "Verdeelde verzoeken",
  routesUnit: "per seconde",
  predicted: "Eerste token, verwacht / gemeten",
  predictedNote: "Gemiddelde tijd van de keuze van de replica tot het eerste token, in de afgelopen minuut",
  takeovers: "Overgenomen antwoorden",
  table: "De grafieken als tabel",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Meetwaarde",
    now: "Nu",
    mean: "Gemiddelde",
    most: "Maximum",
  },
};
