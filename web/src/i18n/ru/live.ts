import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";

const plural = pluralsOf("ru");

/** States of a tier. */
const STATES: Record<TierState, string> = {
  off: "Выключено.",
  full: "Заполнено: новые блоки пока не принимаются.",
  unused: "Отвечает неправильно и пока не используется.",
  refusing: "Отклоняет запись. Блоки по-прежнему читаются.",
  slow: "Медленно: блоки ждут записи.",
  other: "Неисправность. Подробности указаны в журнале сервера.",
};

/** Russian texts for the view of live numbers. */
export const texts: LiveTexts = {
  lead: "Что делает весь сервер, секунда за секундой. Графики показывают до пяти минут.",
  states: {
    connecting: "Подключение…",
    live: "В реальном времени",
    away: "Сервер не отвечает. Показатели возобновятся сами.",
  },
  starting: "Показатели появятся, как только модель будет готова.",
  refused: "Это показатели всего сервера.",
  refusedTodo: "Чтобы их увидеть, войдите по ключу администратора.",
  generated: "Сгенерировано",
  prompts: "Промпты",
  running: "Выполняется",
  waiting: "Ожидает",
  batch: "Размер батча",
  tokensPerSecond: "токенов/с",
  requests: "Запросы",
  requestsUnit: "запросы",
  blocks: "блоков/с",
  perStep: "за шаг",
  computed: "Вычислено",
  secondsAgo: (seconds) => `−${seconds} с`,
  minutesAgo: (minutes) => `−${minutes} мин`,
  now: "сейчас",
  used: (used, capacity) => `${used} из ${capacity}`,
  usedOnly: (used) => `${used}, без лимита`,
  state: (_said, state) => STATES[state],
  occupancy: "Заполнение",
  hitRate: "Доля попаданий",
  hitRateNote: "Какая часть токенов промптов, искавшихся на этом уровне за последнюю минуту, нашлась",
  evictions: "Вытеснения",
  blocksPerSecond: (blocks) => `${blocks} блоков/с`,
  byTenant: "По арендаторам",
  others: "другие",
  shared: "общее для всех",
  in: "Вход",
  out: "Выход",
  traffic: (tier) => `${tier}, вход и выход`,
  breaker: "Предохранитель",
  breakers: {
    closed: "замкнут",
    open: "разомкнут: не используется",
    "half-open": "полуразомкнут: идёт проба",
  },
  replicas: "Реплики",
  replica: (index) => `Реплика ${index}`,
  replicaStates: {
    ok: "работает",
    starting: "запускается",
    failed: "сбой",
  },
  replicaAnswers: (count) => plural(count, { one: `${count} ответ`, few: `${count} ответа`, other: `${count} ответов` }),
  replicaRestarts: (count) => plural(count, { one: `${count} перезапуск`, few: `${count} перезапуска`, other: `${count} перезапусков` }),
  routes: "Распределено запросов",
  routesUnit: "в секунду",
  predicted: "Первый токен, прогноз / факт",
  predictedNote: "Среднее время от выбора реплики до первого токена за последнюю минуту",
  takeovers: "Подхваченные ответы",
  table: "Графики в виде таблицы",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Показатель",
    now: "Сейчас",
    mean: "Среднее",
    most: "Максимум",
  },
};
