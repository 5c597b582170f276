import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("da");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Slået fra.",
  full: "Fuldt: Tager ikke imod flere blokke lige nu.",
  unused: "Svarer ikke korrekt og bruges midlertidigt ikke.",
  refusing: "Tager ikke imod flere blokke. Læsning virker stadig.",
  slow: "Langsomt: Blokke venter på at blive skrevet.",
  other: "Forstyrret. Der står mere i serverens log.",
};

/** Danish texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Hvad hele serveren laver, sekund for sekund. Diagrammerne viser op til fem minutter.",
  oneMemory: "Enhedshukommelse og CPU-hukommelse er her begge en del af dens RAM.",
  states: {
    connecting: "Opretter forbindelse…",
    live: "Live",
    away: "Serveren svarer ikke. Tallene fortsætter af sig selv.",
  },
  starting: "Tallene vises, så snart modellen er klar.",
  refused: "Det er tallene for hele serveren.",
  refusedTodo: "Log ind med en administratornøgle for at se dem.",
  generated: "Genereret",
  prompts: "Prompts",
  running: "I gang",
  waiting: "Venter",
  batch: "Batchstørrelse",
  tokensPerSecond: "tokens/s",
  requests: "Anmodninger",
  requestsUnit: "anmodninger",
  blocks: "blokke/s",
  perStep: "pr. trin",
  computed: "Beregnet",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "nu",
  used: (used, capacity) => `${used} af ${capacity}`,
  usedOnly: (used) => `${used}, ingen grænse`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Udnyttelse",
  hitRate: "Hitrate",
  hitRateNote: "Andel af de prompttokens, som blev slået op på dette niveau i det seneste minut, og som fandtes der",
  evictions: "Fortrængninger",
  blocksPerSecond: (blocks) => `${blocks} blokke/s`,
  byPerson: "Pr. person",
  others: "andre",
  shared: "deles af alle",
  in: "Ind",
  out: "Ud",
  traffic: (tier) => `${tier}, ind og ud`,
  connection: "Forbindelse",
  connections: { closed: "virker", open: "bruges ikke efter fejl", "half-open": "prøves igen" },
  replicas: "Replikaer",
  replica: (index) => `Replika ${index}`,
  replicaStates: {
    ok: "i drift",
    starting: "starter",
    failed: "ude af drift",
  },
  replicaAnswers: (count) => `${count} svar`,
  replicaRestarts: (count) => plural(count, { one: "1 genstart", other: `${count} genstarter` }),
  routes: "Fordelte anmodninger",
  routesUnit: "pr. sekund",
  predicted: "Første token, forventet / målt",
  predictedNote: "Gennemsnitlig tid fra valg af replika til første token i det seneste minut",
  takeovers: "Overtagne svar",
  table: "Diagrammerne som tabel",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Måling",
    now: "Nu",
    mean: "Gennemsnit",
    most: "Maksimum",
  },
};
