import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("be");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Выключана.",
  full: "Запоўнена: новыя блокі пакуль не прымаюцца.",
  unused: "Адказвае няправільна і пакуль не выкарыстоўваецца.",
  refusing: "Адхіляе запіс. Блокі па-ранейшаму чытаюцца.",
  slow: "Павольна: блокі чакаюць запісу.",
  other: "Няспраўнасць. Падрабязнасці ўказаны ў журнале сервера.",
};

/** Belarusian texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Што робіць увесь сервер, секунда за секундай. Графікі паказваюць да пяці хвілін.",
  oneMemory: "Памяць прылады і памяць CPU тут — абедзве часткі яго аператыўнай памяці.",
  states: {
    connecting: "Падключэнне…",
    live: "Ужывую",
    away: "Сервер не адказвае. Паказчыкі адновяцца самі.",
  },
  starting: "Паказчыкі з’явяцца, як толькі мадэль будзе гатовая.",
  refused: "Гэта паказчыкі ўсяго сервера.",
  refusedTodo: "Каб іх убачыць, увайдзіце з ключом адміністратара.",
  generated: "Згенеравана",
  prompts: "Промпты",
  running: "Выконваецца",
  waiting: "Чакае",
  batch: "Памер пакета",
  tokensPerSecond: "токенаў/s",
  requests: "Запыты",
  requestsUnit: "запыты",
  blocks: "блокаў/s",
  perStep: "за крок",
  computed: "Вылічана",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "зараз",
  used: (used, capacity) => `${used} з ${capacity}`,
  usedOnly: (used) => `${used}, без ліміту`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Запаўненне",
  hitRate: "Доля пападанняў",
  hitRateNote: "Якая частка токенаў промптаў, што шукаліся на гэтым узроўні за апошнюю хвіліну, знайшлася",
  evictions: "Выцясненні",
  blocksPerSecond: (blocks) => `${blocks} блокаў/s`,
  byPerson: "Па карыстальніках",
  others: "іншыя",
  shared: "агульнае для ўсіх",
  in: "Уваход",
  out: "Выхад",
  traffic: (tier) => `${tier}, уваход і выхад`,
  connection: "Злучэнне",
  connections: { closed: "працуе", open: "не выкарыстоўваецца пасля памылак", "half-open": "правяраецца зноў" },
  replicas: "Рэплікі",
  replica: (index) => `Рэпліка ${index}`,
  replicaStates: {
    ok: "працуе",
    starting: "запускаецца",
    failed: "збой",
  },
  replicaAnswers: (count) => plural(count, { one: `${count} адказ`, few: `${count} адказы`, other: `${count} адказаў` }),
  replicaRestarts: (count) => plural(count, { one: `${count} перазапуск`, few: `${count} перазапускі`, other: `${count} перазапускаў` }),
  routes: "Размеркавана запытаў",
  routesUnit: "за секунду",
  predicted: "Першы токен, прагноз / факт",
  predictedNote: "Сярэдні час ад выбару рэплікі да першага токена за апошнюю хвіліну",
  takeovers: "Падхопленыя адказы",
  table: "Графікі ў выглядзе табліцы",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Паказчык",
    now: "Зараз",
    mean: "Сярэдняе",
    most: "Максімум",
  },
};
