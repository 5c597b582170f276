import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";

const plural = pluralsOf("ru");

/** Reasons for which no more was reused. */
export const CAUSES: Causes = {
  complete: "Использовано повторно всё, кроме последнего токена: он вычисляется всегда.",
  never_seen: "Насколько известно серверу, продолжение ещё не вычислялось.",
  template_changed: "Системный промпт, шаблон чата или токенизатор отличается от прежнего.",
  messages_left_out: "С этого сообщения промпт больше не содержит первых сообщений чата или снова их содержит.",
  evicted: "Продолжение было вычислено, но вытеснено из кеша.",
  expired: "Продолжение было вычислено, но долго не использовалось, и срок его хранения истёк.",
  computed_otherwise: "Продолжение было вычислено, но другой версией Ebb, другой моделью или другим способом вычисления.",
  rejected: "Продолжение было вычислено, но его данные повреждены, относятся к другой модели или записаны не с ключом этого сервера.",
  breaker_open: "Продолжение было вычислено, но один из уровней кеша не отвечает и пока не используется.",
  not_worth_loading: "Продолжение было вычислено, но вычислить его заново, вероятно, быстрее.",
  not_brought: "Продолжение было вычислено, но загрузить его не удалось: в памяти CPU не было места, или копирование на устройство не удалось.",
  partial_block: "Продолжение было вычислено, но не заполняет целый блок. Гарантированно хранятся только целые блоки.",
  off: "Сервер работает с --no-prefix-cache и ничего не использует повторно.",
};

/** Russian texts for the details of a receipt. */
export const texts: ReceiptTexts = {
  computed: (tokens) => `вычислено: ${tokens}`,
  first: (tokens, total, from) => `${tokens} из ${total} токенов из ${from}`,
  other: (tokens, from) => `${tokens} из ${from}`,
  firstToken: (time) => `первый токен через ${time}`,
  insteadOf: (time) => ` вместо примерно ${time}`,
  speed: (tokens) => `${tokens} токенов/с`,
  prompt: "Промпт",
  recomputed: "Вычислено",
  typed: (from) => `Восстановлено из ${from}, пока вы печатали`,
  phases: {
    queue: "В очереди",
    lookup: "Поиск в кеше",
    load: "Загрузка блоков",
    prefill: "Вычисление",
  },
  timeToFirstToken: "Время до первого токена",
  answer: "Ответ",
  form: "Требуемый формат",
  forms: { valid: "соблюдён", invalid: "не соблюдён", unchecked: "не проверен" },
  promise: "Сохраняется на диске",
  promised: (tokens, time) => `${tokens} до ${time}`,
  notPromised: (tokens) => `${tokens} не сохраняется`,
  rate: "Скорость",
  total: "Всего",
  cost: "Стоимость",
  why: "Почему не удалось использовать больше?",
  looking: "Загружается объяснение…",
  failed: "Объяснение загрузить не удалось.",
  reusedAll: (until) => `Все токены из кеша (${until}) использованы повторно, остальное новое.`,
  reused: (until, reusable) => `Из ${reusable} токенов в кеше использовано ${until}.`,
  cause: (_said, cause) => CAUSES[cause] ?? "Причина указана в журнале сервера.",
  advanced: "Дополнительно",
  leftOut: "Пропущенные сообщения",
  diverges: (at) => `С токена ${at} этот промпт отличается:`,
  goesOn: (at) => `До токена ${at} всё было в кеше. Дальше шло:`,
  here: "здесь",
  before: "раньше",
  end: "(конец)",
  verified: (count, text) =>
    plural(count, { one: `Проверен ${text} блок с нижнего уровня.`, few: `Проверены ${text} блока с нижних уровней.`, other: `Проверено ${text} блоков с нижних уровней.` }),
  removedLines: (names) => `Убрано, чтобы системный промпт не менялся: ${names}`,
  movedLines: (names) => `Перемещено в первое сообщение, чтобы системный промпт не менялся: ${names}`,

  promptLines: {
    "claude-code-billing-header": "заголовок биллинга Claude Code",
    "claude-code-git-status": "статус Git из Claude Code",
    "todays-date": "сегодняшняя дата",
    "current-date": "текущая дата",
    "current-date-and-time": "текущие дата и время",
    "goose-date": "дата из goose",
    "kimi-cli-date": "дата из Kimi CLI",
    "home-assistant-clock": "часы Home Assistant",
    "session-id": "идентификатор сеанса",
    "removed-lines": "строки настройки removed-lines",
    "moved-lines": "строки настройки moved-lines",
  },
};
