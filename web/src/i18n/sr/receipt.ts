import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sr");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Поново је употребљено све осим последњег токена: он се увек израчунава.",
  never_seen: "Колико је серверу познато, наставак још није израчунаван.",
  template_changed: "Системски промпт, шаблон ћаскања или токенизатор се разликује од ранијег.",
  messages_left_out: "Од ове поруке промпт више не садржи прве поруке ћаскања или их поново садржи.",
  evicted: "Наставак је био израчунат, али је избачен из кеша.",
  expired: "Наставак је био израчунат, али дуго није коришћен и истекао је.",
  computed_otherwise: "Наставак је био израчунат, али другом верзијом Ebb-а, другим моделом или другим начином рачунања.",
  rejected: "Наставак је био израчунат, али су његови подаци оштећени, припадају другом моделу или нису уписани кључем овог сервера.",
  breaker_open: "Наставак је био израчунат, али један од нивоа кеша не реагује и засад се не користи.",
  not_worth_loading: "Наставак је био израчунат, али је вероватно брже израчунати га поново.",
  not_brought: "Наставак је био израчунат, али није могао да се учита: у CPU меморији није било места или копирање на уређај није успело.",
  partial_block: "Наставак је био израчунат, али не попуњава цео блок. Сигурно се чувају само цели блокови.",
  off: "Сервер ради са --no-prefix-cache и ништа не употребљава поново.",
};

/** Serbian texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `израчунато: ${tokens}`,
  first: (tokens, total, from) => `${tokens} од ${total} токена из ${from}`,
  other: (tokens, from) => `${tokens} из ${from}`,
  firstToken: (time) => `први токен после ${time}`,
  insteadOf: (time) => ` уместо око ${time}`,
  speed: (tokens) => `${tokens} токена/s`,
  prompt: "Промпт",
  recomputed: "Израчунато",
  typed: (from) => `Враћено из ${from} док сте куцали`,
  phases: {
    queue: "У реду чекања",
    lookup: "Претрага кеша",
    load: "Учитавање блокова",
    prefill: "Израчунавање",
  },
  timeToFirstToken: "Време до првог токена",
  answer: "Одговор",
  form: "Тражени облик",
  forms: { valid: "испоштован", invalid: "није испоштован", unchecked: "није проверен" },
  rate: "Брзина",
  total: "Укупно",
  cost: "Цена",
  why: "Зашто није употребљено више?",
  looking: "Учитавање објашњења…",
  failed: "Објашњење није учитано.",
  reusedAll: (until) => `Сви токени из кеша (${until}) су поново употребљени; остало је ново.`,
  reused: (until, reusable) => `Од ${reusable} токена у кешу поново је употребљено ${until}.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Напредно",
  leftOut: "Изостављене поруке",
  diverges: (at) => `Од токена ${at} овај промпт се разликује:`,
  goesOn: (at) => `Све до токена ${at} је било у кешу. Затим следи:`,
  here: "овде",
  before: "раније",
  end: "(крај)",
  verified: (count, text) =>
    plural(count, { one: `Проверен је ${text} блок са нижег нивоа.`, few: `Проверена су ${text} блока са нижих нивоа.`, other: `Проверено је ${text} блокова са нижих нивоа.` }),
  removedLines: (names) => `Изостављено да се системски промпт не би мењао: ${names}`,
  movedLines: (names) => `Премештено у прву поруку да се системски промпт не би мењао: ${names}`,

  promptLines: {
    "claude-code-billing-header": "заглавље за наплату алата Claude Code",
    "claude-code-git-status": "Git статус алата Claude Code",
    "todays-date": "данашњи датум",
    "current-date": "тренутни датум",
    "current-date-and-time": "тренутни датум и време",
    "goose-date": "датум алата goose",
    "kimi-cli-date": "датум алата Kimi CLI",
    "home-assistant-clock": "сат система Home Assistant",
    "session-id": "ИД сесије",
    "removed-lines": "редови подешавања removed-lines",
    "moved-lines": "редови подешавања moved-lines",
  },
};
