import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("lv");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Izslēgts.",
  full: "Pilns: jauni bloki pagaidām netiek pieņemti.",
  unused: "Atbild nepareizi un pagaidām netiek izmantots.",
  refusing: "Noraida rakstīšanu. Bloki joprojām tiek lasīti.",
  slow: "Lēns: bloki gaida rakstīšanu.",
  other: "Bojājums. Detaļas ir servera žurnālā.",
};

/** Latvian texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Ko dara viss serveris, sekundi pa sekundei. Diagrammas rāda līdz piecām minūtēm.",
  oneMemory: "Ierīces atmiņa un CPU atmiņa šeit abas ir daļa no tā RAM.",
  states: {
    connecting: "Notiek savienošana…",
    live: "Reāllaikā",
    away: "Serveris neatbild. Rādītāji atsāksies paši.",
  },
  starting: "Rādītāji parādīsies, tiklīdz modelis būs gatavs.",
  refused: "Šie ir visa servera rādītāji.",
  refusedTodo: "Lai tos redzētu, pierakstieties ar administratora atslēgu.",
  generated: "Ģenerēts",
  prompts: "Uzvednes",
  running: "Izpildē",
  waiting: "Gaida",
  batch: "Paketes lielums",
  tokensPerSecond: "tokeni/s",
  requests: "Pieprasījumi",
  requestsUnit: "pieprasījumi",
  blocks: "bloki/s",
  perStep: "pieprasījumi/solis",
  computed: "Aprēķināts",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "tagad",
  used: (used, capacity) => `${used} no ${capacity}`,
  usedOnly: (used) => `${used}, bez limita`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Aizpildījums",
  hitRate: "Trāpījumu īpatsvars",
  hitRateNote: "Cik liela daļa no šajā līmenī pēdējā minūtē meklētajiem uzvedņu tokeniem tika atrasta",
  evictions: "Izspiešana",
  blocksPerSecond: (blocks) => `${blocks} bloki/s`,
  byPerson: "Pēc lietotāja",
  others: "citi",
  shared: "kopīgs visiem",
  in: "Ienāk",
  out: "Iziet",
  traffic: (tier) => `${tier}, ienākošie un izejošie`,
  connection: "Savienojums",
  connections: { closed: "darbojas", open: "pēc kļūdām netiek izmantots", "half-open": "tiek izmēģināts vēlreiz" },
  replicas: "Replikas",
  replica: (index) => `${index}. replika`,
  replicaStates: {
    ok: "darbojas",
    starting: "tiek palaista",
    failed: "avarējusi",
  },
  replicaAnswers: (count) => plural(count, { zero: `${count} atbilžu`, one: `${count} atbilde`, other: `${count} atbildes` }),
  replicaRestarts: (count) => plural(count, { zero: `${count} restartēšanu`, one: `${count} restartēšana`, other: `${count} restartēšanas` }),
  routes: "Nosūtītie pieprasījumi",
  routesUnit: "pieprasījumi/s",
  predicted: "Pirmais tokens, prognoze / faktiski",
  predictedNote: "Vidējais laiks no replikas izvēles līdz pirmajam tokenam pēdējā minūtē",
  takeovers: "Pārņemtās atbildes",
  table: "Diagrammas kā tabula",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Rādītājs",
    now: "Tagad",
    mean: "Vidēji",
    most: "Maksimums",
  },
};
