import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sr");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Искључено.",
  full: "Пуно: засад се не примају нови блокови.",
  unused: "Реагује неисправно и засад се не користи.",
  refusing: "Одбија упис. Блокови се и даље читају.",
  slow: "Споро: блокови чекају на упис.",
  other: "Квар. Детаљи су у дневнику сервера.",
};

/** Serbian texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Шта ради цео сервер, из секунде у секунду. Графикони приказују до пет минута.",
  oneMemory: "Меморија уређаја и CPU меморија овде су део његовог RAM-а.",
  states: {
    connecting: "Повезивање…",
    live: "Уживо",
    away: "Сервер не реагује. Показатељи ће се сами наставити.",
  },
  starting: "Показатељи се појављују чим модел буде спреман.",
  refused: "Ово су показатељи целог сервера.",
  refusedTodo: "Пријавите се администраторским кључем да бисте их видели.",
  generated: "Генерисано",
  prompts: "Промптови",
  running: "У току",
  waiting: "На чекању",
  batch: "Величина групе",
  tokensPerSecond: "токена/s",
  requests: "Захтеви",
  requestsUnit: "захтеви",
  blocks: "блокова/s",
  perStep: "по кораку",
  computed: "Израчунато",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "сада",
  used: (used, capacity) => `${used} од ${capacity}`,
  usedOnly: (used) => `${used}, без ограничења`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Попуњеност",
  hitRate: "Удео погодака",
  hitRateNote: "Колики део токена промптова тражених на овом нивоу у последњем минуту је пронађен",
  evictions: "Избацивања",
  blocksPerSecond: (blocks) => `${blocks} блокова/s`,
  byPerson: "По кориснику",
  others: "остали",
  shared: "заједничко за све",
  in: "Улаз",
  out: "Излаз",
  traffic: (tier) => `${tier}, улаз и излаз`,
  connection: "Веза",
  connections: { closed: "ради", open: "не користи се после грешака", "half-open": "поново се проверава" },
  replicas: "Реплике",
  replica: (index) => `Реплика ${index}`,
  replicaStates: {
    ok: "ради",
    starting: "покреће се",
    failed: "отказала",
  },
  replicaAnswers: (count) => plural(count, { one: `${count} одговор`, few: `${count} одговора`, other: `${count} одговора` }),
  replicaRestarts: (count) => plural(count, { one: `${count} поновно покретање`, few: `${count} поновна покретања`, other: `${count} поновних покретања` }),
  routes: "Послати захтеви",
  routesUnit: "у секунди",
  predicted: "Први токен, предвиђено / стварно",
  predictedNote: "Просечно време од избора реплике до првог токена, у последњем минуту",
  takeovers: "Преузети одговори",
  table: "Графикони као табела",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Показатељ",
    now: "Сада",
    mean: "Просек",
    most: "Највише",
  },
};
