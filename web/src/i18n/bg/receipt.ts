import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("bg");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Използвано е повторно всичко освен последния токен: той винаги се изчислява.",
  never_seen: "Доколкото сървърът знае, продължението още не е изчислявано.",
  template_changed: "Системният промпт, шаблонът на чата или токенизаторът се различава от предишния.",
  messages_left_out: "От това съобщение нататък промптът вече не съдържа първите съобщения на чата или отново ги съдържа.",
  evicted: "Продължението е било изчислено, но е изместено от кеша.",
  expired: "Продължението е било изчислено, но дълго не е използвано и срокът му е изтекъл.",
  computed_otherwise: "Продължението е било изчислено, но с друга версия на Ebb, друг модел или друг начин на изчисляване.",
  rejected: "Продължението е било изчислено, но данните му са повредени, за друг модел са или не са записани с ключа на този сървър.",
  breaker_open: "Продължението е било изчислено, но едно от нивата на кеша не отговаря и засега не се използва.",
  not_worth_loading: "Продължението е било изчислено, но вероятно е по-бързо да се изчисли отново.",
  not_brought: "Продължението е било изчислено, но не може да се зареди: в паметта на CPU няма място или копирането към устройството не успя.",
  partial_block: "Продължението е било изчислено, но не запълва цял блок. Със сигурност се пазят само цели блокове.",
  off: "Сървърът работи с --no-prefix-cache и не използва нищо повторно.",
};

/** Bulgarian texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `изчислени: ${tokens}`,
  first: (tokens, total, from) => `${tokens} от ${total} токена от ${from}`,
  other: (tokens, from) => `${tokens} от ${from}`,
  firstToken: (time) => `първи токен след ${time}`,
  insteadOf: (time) => ` вместо около ${time}`,
  speed: (tokens) => `${tokens} токена/s`,
  prompt: "Промпт",
  recomputed: "Изчислени",
  typed: (from) => `Възстановени от ${from}, докато пишехте`,
  phases: {
    queue: "На опашката",
    lookup: "Търсене в кеша",
    load: "Зареждане на блокове",
    prefill: "Изчисляване",
  },
  timeToFirstToken: "Време до първия токен",
  answer: "Отговор",
  form: "Изискван формат",
  forms: { valid: "спазен", invalid: "неспазен", unchecked: "непроверен" },
  rate: "Скорост",
  total: "Общо",
  cost: "Цена",
  why: "Защо не е използвано повече?",
  looking: "Зареждане на обяснението…",
  failed: "Обяснението не може да бъде заредено.",
  reusedAll: (until) => `Всички токени от кеша (${until}) са използвани повторно; останалото е ново.`,
  reused: (until, reusable) => `Използвани са повторно ${until} от ${reusable} токена в кеша.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Подробно",
  leftOut: "Пропуснати съобщения",
  diverges: (at) => `От токен ${at} този промпт се различава:`,
  goesOn: (at) => `Всичко до токен ${at} беше в кеша. След това следва:`,
  here: "тук",
  before: "преди",
  end: "(край)",
  verified: (count, text) => plural(count, { one: "Проверен е 1 блок от по-долно ниво.", other: `Проверени са ${text} блока от по-долни нива.` }),
  removedLines: (names) => `Пропуснато, за да не се променя системният промпт: ${names}`,
  movedLines: (names) => `Преместено в първото съобщение, за да не се променя системният промпт: ${names}`,

  promptLines: {
    "claude-code-billing-header": "заглавката за таксуване на Claude Code",
    "claude-code-git-status": "състоянието на Git от Claude Code",
    "todays-date": "днешната дата",
    "current-date": "текущата дата",
    "current-date-and-time": "текущите дата и час",
    "goose-date": "датата от goose",
    "kimi-cli-date": "датата от Kimi CLI",
    "home-assistant-clock": "часовникът на Home Assistant",
    "session-id": "идентификатор на сесията",
    "removed-lines": "редове от настройката removed-lines",
    "moved-lines": "редове от настройката moved-lines",
  },
};
