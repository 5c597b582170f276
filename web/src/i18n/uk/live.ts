import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("uk");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Вимкнено.",
  full: "Заповнено: нові блоки поки не приймаються.",
  unused: "Відповідає неправильно й поки не використовується.",
  refusing: "Відхиляє запис. Блоки, як і раніше, читаються.",
  slow: "Повільно: блоки чекають на запис.",
  other: "Несправність. Подробиці вказано в журналі сервера.",
};

/** Ukrainian texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Що робить увесь сервер, секунда за секундою. Графіки показують до п’яти хвилин.",
  oneMemory: "Пам’ять пристрою і пам’ять CPU тут — частини його оперативної пам’яті.",
  states: {
    connecting: "Підключення…",
    live: "Наживо",
    away: "Сервер не відповідає. Показники відновляться самі.",
  },
  starting: "Показники з’являться, щойно модель буде готова.",
  refused: "Це показники всього сервера.",
  refusedTodo: "Щоб їх побачити, увійдіть з ключем адміністратора.",
  generated: "Згенеровано",
  prompts: "Промпти",
  running: "Виконується",
  waiting: "Очікує",
  batch: "Розмір пакета",
  tokensPerSecond: "токенів/s",
  requests: "Запити",
  requestsUnit: "запити",
  blocks: "блоків/s",
  perStep: "за крок",
  computed: "Обчислено",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "зараз",
  used: (used, capacity) => `${used} із ${capacity}`,
  usedOnly: (used) => `${used}, без ліміту`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Заповнення",
  hitRate: "Частка влучань",
  hitRateNote: "Яка частина токенів промптів, що їх шукали на цьому рівні за останню хвилину, знайшлася",
  evictions: "Витіснення",
  blocksPerSecond: (blocks) => `${blocks} блоків/s`,
  byPerson: "За користувачами",
  others: "інші",
  shared: "спільне для всіх",
  in: "Вхід",
  out: "Вихід",
  traffic: (tier) => `${tier}, вхід і вихід`,
  connection: "З’єднання",
  connections: { closed: "працює", open: "не використовується після помилок", "half-open": "перевіряється знову" },
  replicas: "Репліки",
  replica: (index) => `Репліка ${index}`,
  replicaStates: {
    ok: "працює",
    starting: "запускається",
    failed: "збій",
  },
  replicaAnswers: (count) => plural(count, { one: `${count} відповідь`, few: `${count} відповіді`, other: `${count} відповідей` }),
  replicaRestarts: (count) => plural(count, { one: `${count} перезапуск`, few: `${count} перезапуски`, other: `${count} перезапусків` }),
  routes: "Розподілено запитів",
  routesUnit: "за секунду",
  predicted: "Перший токен, прогноз / факт",
  predictedNote: "Середній час від вибору репліки до першого токена за останню хвилину",
  takeovers: "Перейняті відповіді",
  table: "Графіки у вигляді таблиці",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Показник",
    now: "Зараз",
    mean: "Середнє",
    most: "Максимум",
  },
};
