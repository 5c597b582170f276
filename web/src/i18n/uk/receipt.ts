import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("uk");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Повторно використано все, крім останнього токена: він обчислюється завжди.",
  never_seen: "Наскільки відомо серверу, продовження ще не обчислювалося.",
  template_changed: "Системний промпт, шаблон чату або токенізатор відрізняється від попереднього.",
  messages_left_out: "Від цього повідомлення промпт більше не містить перших повідомлень чату або знову їх містить.",
  evicted: "Продовження було обчислено, але витіснено з кешу.",
  expired: "Продовження було обчислено, але його довго не використовували, і термін його зберігання минув.",
  computed_otherwise: "Продовження було обчислено, але іншою версією Ebb, іншою моделлю або іншим способом обчислення.",
  rejected: "Продовження було обчислено, але його дані пошкоджені, належать іншій моделі або записані не з ключем цього сервера.",
  breaker_open: "Продовження було обчислено, але один із рівнів кешу не відповідає й поки не використовується.",
  not_worth_loading: "Продовження було обчислено, але обчислити його знову, ймовірно, швидше.",
  not_brought: "Продовження було обчислено, але завантажити його не вдалося: у пам’яті CPU не було місця або не вдалося скопіювати його на пристрій.",
  partial_block: "Продовження було обчислено, але воно не заповнює цілого блока. Гарантовано зберігаються лише цілі блоки.",
  off: "Сервер працює з --no-prefix-cache і нічого не використовує повторно.",
};

/** Ukrainian texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `обчислено: ${tokens}`,
  first: (tokens, total, from) => `${tokens} із ${total} токенів з ${from}`,
  other: (tokens, from) => `${tokens} з ${from}`,
  firstToken: (time) => `перший токен через ${time}`,
  insteadOf: (time) => ` замість приблизно ${time}`,
  speed: (tokens) => `${tokens} токенів/s`,
  prompt: "Промпт",
  recomputed: "Обчислено",
  typed: (from) => `Відновлено з ${from}, поки ви друкували`,
  phases: {
    queue: "У черзі",
    lookup: "Пошук у кеші",
    load: "Завантаження блоків",
    prefill: "Обчислення",
  },
  timeToFirstToken: "Час до першого токена",
  answer: "Відповідь",
  form: "Потрібний формат",
  forms: { valid: "дотримано", invalid: "не дотримано", unchecked: "не перевірено" },
  rate: "Швидкість",
  total: "Усього",
  cost: "Вартість",
  why: "Чому не вдалося використати більше?",
  looking: "Завантаження пояснення…",
  failed: "Не вдалося завантажити пояснення.",
  reusedAll: (until) => `Усі токени з кешу (${until}) використано повторно, решта нова.`,
  reused: (until, reusable) => `Із ${reusable} токенів у кеші використано ${until}.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Докладно",
  leftOut: "Пропущені повідомлення",
  diverges: (at) => `Від токена ${at} цей промпт відрізняється:`,
  goesOn: (at) => `До токена ${at} усе було в кеші. Далі йшло:`,
  here: "тут",
  before: "раніше",
  end: "(кінець)",
  verified: (count, text) =>
    plural(count, { one: `Перевірено ${text} блок із нижчого рівня.`, few: `Перевірено ${text} блоки з нижчих рівнів.`, other: `Перевірено ${text} блоків із нижчих рівнів.` }),
  removedLines: (names) => `Прибрано, щоб системний промпт не змінювався: ${names}`,
  movedLines: (names) => `Переміщено в перше повідомлення, щоб системний промпт не змінювався: ${names}`,

  promptLines: {
    "claude-code-billing-header": "заголовок оплати Claude Code",
    "claude-code-git-status": "статус Git із Claude Code",
    "todays-date": "сьогоднішня дата",
    "current-date": "поточна дата",
    "current-date-and-time": "поточні дата й час",
    "goose-date": "дата з goose",
    "kimi-cli-date": "дата з Kimi CLI",
    "home-assistant-clock": "годинник Home Assistant",
    "session-id": "ідентифікатор сеансу",
    "removed-lines": "рядки налаштування removed-lines",
    "moved-lines": "рядки налаштування moved-lines",
  },
};
