import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("bg");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Изключено.",
  full: "Пълно: засега не се приемат нови блокове.",
  unused: "Отговаря неправилно и засега не се използва.",
  refusing: "Отказва запис. Блоковете все още се четат.",
  slow: "Бавно: блоковете чакат запис.",
  other: "Неизправност. Подробностите са в журнала на сървъра.",
};

/** Bulgarian texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Какво прави целият сървър, секунда по секунда. Графиките показват до пет минути.",
  oneMemory: "Тук паметта на устройството и паметта на CPU са части от неговата RAM памет.",
  states: {
    connecting: "Свързване…",
    live: "На живо",
    away: "Сървърът не отговаря. Показателите ще се възобновят сами.",
  },
  starting: "Показателите ще се появят, щом моделът е готов.",
  refused: "Това са показателите на целия сървър.",
  refusedTodo: "Влезте с администраторски ключ, за да ги видите.",
  generated: "Генерирани",
  prompts: "Промптове",
  running: "Изпълняват се",
  waiting: "Чакат",
  batch: "Размер на партидата",
  tokensPerSecond: "токена/s",
  requests: "Заявки",
  requestsUnit: "заявки",
  blocks: "блока/s",
  perStep: "на стъпка",
  computed: "Изчислени",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "сега",
  used: (used, capacity) => `${used} от ${capacity}`,
  usedOnly: (used) => `${used}, без лимит`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Заетост",
  hitRate: "Дял на попаденията",
  hitRateNote: "Каква част от токените на промптове, търсени в това ниво през последната минута, е намерена",
  evictions: "Измествания",
  blocksPerSecond: (blocks) => `${blocks} блока/s`,
  byPerson: "По потребители",
  others: "други",
  shared: "общо за всички",
  in: "Вход",
  out: "Изход",
  traffic: (tier) => `${tier}, вход и изход`,
  connection: "Връзка",
  connections: { closed: "работи", open: "не се използва след грешки", "half-open": "изпробва се отново" },
  replicas: "Реплики",
  replica: (index) => `Реплика ${index}`,
  replicaStates: {
    ok: "работи",
    starting: "стартира",
    failed: "отказала",
  },
  replicaAnswers: (count) => plural(count, { one: "1 отговор", other: `${count} отговора` }),
  replicaRestarts: (count) => plural(count, { one: "1 рестартиране", other: `${count} рестартирания` }),
  routes: "Разпределени заявки",
  routesUnit: "в секунда",
  predicted: "Първи токен, прогноза / реално",
  predictedNote: "Средно време от избора на реплика до първия токен през последната минута",
  takeovers: "Поети отговори",
  table: "Графиките като таблица",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Показател",
    now: "Сега",
    mean: "Средно",
    most: "Максимум",
  },
};
