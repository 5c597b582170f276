import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("is");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Slökkt.",
  full: "Fullt: tekur ekki við fleiri blokkum í bili.",
  unused: "Svarar ekki rétt og er tímabundið ekki notað.",
  refusing: "Tekur ekki við fleiri blokkum. Lestur virkar áfram.",
  slow: "Hægt: blokkir bíða þess að vera skrifaðar.",
  other: "Truflun. Nánari upplýsingar eru í annál þjónsins.",
};

/** Icelandic texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Það sem allur þjónninn er að gera, sekúndu fyrir sekúndu. Línuritin sýna allt að fimm mínútur.",
  oneMemory: "Minni tækis og CPU-minni eru hér bæði hluti af vinnsluminni vélarinnar.",
  states: {
    connecting: "Tengist…",
    live: "Í beinni",
    away: "Þjónninn svarar ekki. Tölurnar halda áfram af sjálfu sér.",
  },
  starting: "Tölurnar birtast um leið og líkanið er tilbúið.",
  refused: "Þetta eru tölur alls þjónsins.",
  refusedTodo: "Skráðu þig inn með stjórnandalykli til að sjá þær.",
  generated: "Myndað",
  prompts: "Kvaðningar",
  running: "Í gangi",
  waiting: "Í bið",
  batch: "Bunkastærð",
  tokensPerSecond: "tókar/s",
  requests: "Beiðnir",
  requestsUnit: "beiðnir",
  blocks: "blokkir/s",
  perStep: "á skref",
  computed: "Reiknað",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} mín`,
  now: "núna",
  used: (used, capacity) => `${used} af ${capacity}`,
  usedOnly: (used) => `${used}, engin takmörk`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Nýting",
  hitRate: "Hittihlutfall",
  hitRateNote: "Hlutfall þeirra kvaðningartóka sem leitað var að í þessu þrepi síðustu mínútu og fundust þar",
  evictions: "Útskipti",
  blocksPerSecond: (blocks) => `${blocks} blokkir/s`,
  byPerson: "Eftir einstaklingi",
  others: "aðrir",
  shared: "sameiginlegt öllum",
  in: "Inn",
  out: "Út",
  traffic: (tier) => `${tier}, inn og út`,
  connection: "Tenging",
  connections: { closed: "virkar", open: "ekki notuð eftir villur", "half-open": "prófuð aftur" },
  replicas: "Eintök",
  replica: (index) => `Eintak ${index}`,
  replicaStates: {
    ok: "virkt",
    starting: "ræsist",
    failed: "bilað",
  },
  replicaAnswers: (count) => plural(count, { one: `${count} svar`, other: `${count} svör` }),
  replicaRestarts: (count) => plural(count, { one: `${count} endurræsing`, other: `${count} endurræsingar` }),
  routes: "Dreifðar beiðnir",
  routesUnit: "á sekúndu",
  predicted: "Fyrsti tóki, áætlað / mælt",
  predictedNote: "Meðaltími frá vali á eintaki að fyrsta tóka síðustu mínútu",
  takeovers: "Yfirtekin svör",
  table: "Línuritin sem tafla",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Mæling",
    now: "Núna",
    mean: "Meðaltal",
    most: "Hámark",
  },
};
