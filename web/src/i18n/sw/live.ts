import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sw");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Limezimwa.",
  full: "Limejaa: halipokei bloku zaidi kwa sasa.",
  unused: "Halijibu ipasavyo na halitumiki kwa muda.",
  refusing: "Halipokei bloku zaidi. Zilizopo bado zinaweza kusomwa.",
  slow: "Ni la polepole: bloku zinasubiri kuandikwa.",
  other: "Lina tatizo. Angalia rekodi za seva kwa maelezo.",
};

/** Swahili texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Shughuli za seva nzima, sekunde kwa sekunde. Chati huonyesha hadi dakika tano.",
  oneMemory: "Hapa memori ya kifaa na memori ya CPU zote ni sehemu ya RAM ya mashine hii.",
  states: {
    connecting: "Inaunganisha…",
    live: "Moja kwa moja",
    away: "Seva haijibu. Takwimu zitaendelea zenyewe.",
  },
  starting: "Takwimu zitaonekana modeli itakapokuwa tayari.",
  refused: "Hizi ni takwimu za seva nzima.",
  refusedTodo: "Ingia kwa ufunguo wa msimamizi ili uzione.",
  generated: "Zilizotengenezwa",
  prompts: "Vidokezo",
  running: "Yanayoendelea",
  waiting: "Yanayosubiri",
  batch: "Ukubwa wa kundi",
  tokensPerSecond: "tokeni/s",
  requests: "Maombi",
  requestsUnit: "maombi",
  blocks: "bloku/s",
  perStep: "kwa hatua",
  computed: "Zilizokokotolewa",
  secondsAgo: (seconds) => `sek −${seconds}`,
  minutesAgo: (minutes) => `dak −${minutes}`,
  now: "sasa",
  used: (used, capacity) => `${used} kati ya ${capacity}`,
  usedOnly: (used) => `${used}, hakuna kikomo`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Nafasi iliyotumika",
  hitRate: "Kiwango cha kupatikana",
  hitRateNote: "Kati ya tokeni za vidokezo zilizotafutwa katika tabaka hili katika dakika iliyopita, sehemu iliyopatikana",
  evictions: "Zilizoondolewa",
  blocksPerSecond: (blocks) => `bloku ${blocks}/s`,
  byPerson: "Kwa mtu",
  others: "wengine",
  shared: "inayoshirikiwa na wote",
  in: "Kuingia",
  out: "Kutoka",
  traffic: (tier) => `${tier}, kuingia na kutoka`,
  connection: "Muunganisho",
  connections: { closed: "unafanya kazi", open: "hautumiki baada ya hitilafu", "half-open": "unajaribiwa tena" },
  replicas: "Nakala",
  replica: (index) => `Nakala ya ${index}`,
  replicaStates: {
    ok: "inahudumu",
    starting: "inaanza",
    failed: "imeshindwa",
  },
  replicaAnswers: (count) => plural(count, { one: "jibu 1", other: `majibu ${count}` }),
  replicaRestarts: (count) => plural(count, { one: "imewashwa upya mara 1", other: `imewashwa upya mara ${count}` }),
  routes: "Maombi yaliyogawanywa",
  routesUnit: "kwa sekunde",
  predicted: "Tokeni ya kwanza, makadirio / halisi",
  predictedNote: "Wastani wa muda kutoka kuchaguliwa kwa nakala hadi tokeni ya kwanza, katika dakika iliyopita",
  takeovers: "Majibu yaliyochukuliwa na nakala nyingine",
  table: "Chati kama jedwali",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Kipimo",
    now: "Sasa",
    mean: "Wastani",
    most: "Juu zaidi",
  },
};
