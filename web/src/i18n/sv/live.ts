import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sv");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Av.",
  full: "Full: tar inte emot fler block just nu.",
  unused: "Svarar inte som den ska och används tillfälligt inte.",
  refusing: "Tar inte emot fler block. Läsning fungerar fortfarande.",
  slow: "Långsam: block väntar på att skrivas.",
  other: "Störd. Mer finns i serverns logg.",
};

/** Swedish texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Vad hela servern gör, sekund för sekund. Diagrammen visar upp till fem minuter.",
  oneMemory: "Enhetsminne och CPU-minne är här båda en del av datorns RAM.",
  states: {
    connecting: "Ansluter…",
    live: "Live",
    away: "Servern svarar inte. Siffrorna fortsätter av sig själva.",
  },
  starting: "Siffrorna visas så snart modellen är redo.",
  refused: "Det här är hela serverns siffror.",
  refusedTodo: "Logga in med en administratörsnyckel för att se dem.",
  generated: "Genererat",
  prompts: "Prompter",
  running: "Körs",
  waiting: "Väntar",
  batch: "Batchstorlek",
  tokensPerSecond: "tokens/s",
  requests: "Förfrågningar",
  requestsUnit: "förfrågningar",
  blocks: "block/s",
  perStep: "per steg",
  computed: "Beräknat",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "nu",
  used: (used, capacity) => `${used} av ${capacity}`,
  usedOnly: (used) => `${used}, ingen gräns`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Beläggning",
  hitRate: "Träffgrad",
  hitRateNote: "Andel av de prompttokens som söktes i nivån under den senaste minuten och som fanns där",
  evictions: "Undanträngningar",
  blocksPerSecond: (blocks) => `${blocks} block/s`,
  byPerson: "Per person",
  others: "övriga",
  shared: "delas av alla",
  in: "In",
  out: "Ut",
  traffic: (tier) => `${tier}, in och ut`,
  connection: "Anslutning",
  connections: { closed: "fungerar", open: "används inte efter fel", "half-open": "prövas igen" },
  replicas: "Repliker",
  replica: (index) => `Replik ${index}`,
  replicaStates: {
    ok: "i drift",
    starting: "startar",
    failed: "har slutat fungera",
  },
  replicaAnswers: (count) => `${count} svar`,
  replicaRestarts: (count) => plural(count, { one: "1 omstart", other: `${count} omstarter` }),
  routes: "Fördelade förfrågningar",
  routesUnit: "per sekund",
  predicted: "Första token, väntat / uppmätt",
  predictedNote: "Genomsnittlig tid från valet av replik till första token, under den senaste minuten",
  takeovers: "Övertagna svar",
  table: "Diagrammen som tabell",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Mått",
    now: "Nu",
    mean: "Medel",
    most: "Max",
  },
};
