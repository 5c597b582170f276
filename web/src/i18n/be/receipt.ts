import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("be");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Паўторна выкарыстана ўсё, апроч апошняга токена: ён вылічаецца заўсёды.",
  never_seen: "Наколькі вядома серверу, працяг яшчэ не вылічаўся.",
  template_changed: "Сістэмны промпт, шаблон чата або такенізатар адрозніваецца ад ранейшага.",
  messages_left_out: "З гэтага паведамлення промпт больш не змяшчае першых паведамленняў чата або зноў іх змяшчае.",
  evicted: "Працяг быў вылічаны, але выцеснены з кэша.",
  expired: "Працяг быў вылічаны, але доўга не выкарыстоўваўся, і тэрмін яго захоўвання скончыўся.",
  computed_otherwise: "Працяг быў вылічаны, але іншай версіяй Ebb, іншай мадэллю або іншым спосабам вылічэння.",
  rejected: "Працяг быў вылічаны, але яго даныя пашкоджаны, належаць іншай мадэлі або запісаны не з ключом гэтага сервера.",
  breaker_open: "Працяг быў вылічаны, але адзін з узроўняў кэша не адказвае і пакуль не выкарыстоўваецца.",
  not_worth_loading: "Працяг быў вылічаны, але вылічыць яго нанова, верагодна, хутчэй.",
  not_brought: "Працяг быў вылічаны, але загрузіць яго не ўдалося: у памяці CPU не было месца або не ўдалося скапіяваць яго на прыладу.",
  partial_block: "Працяг быў вылічаны, але не запаўняе цэлага блока. Гарантавана захоўваюцца толькі цэлыя блокі.",
  off: "Сервер працуе з --no-prefix-cache і нічога не выкарыстоўвае паўторна.",
};

/** Belarusian texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `вылічана: ${tokens}`,
  first: (tokens, total, from) => `${tokens} з ${total} токенаў з ${from}`,
  other: (tokens, from) => `${tokens} з ${from}`,
  firstToken: (time) => `першы токен праз ${time}`,
  insteadOf: (time) => ` замест прыкладна ${time}`,
  speed: (tokens) => `${tokens} токенаў/s`,
  prompt: "Промпт",
  recomputed: "Вылічана",
  typed: (from) => `Адноўлена з ${from}, пакуль вы пісалі`,
  phases: {
    queue: "У чарзе",
    lookup: "Пошук у кэшы",
    load: "Загрузка блокаў",
    prefill: "Вылічэнне",
  },
  timeToFirstToken: "Час да першага токена",
  answer: "Адказ",
  form: "Патрэбны фармат",
  forms: { valid: "вытрыманы", invalid: "не вытрыманы", unchecked: "не правераны" },
  rate: "Хуткасць",
  total: "Усяго",
  cost: "Кошт",
  why: "Чаму не ўдалося выкарыстаць больш?",
  looking: "Загрузка тлумачэння…",
  failed: "Не ўдалося загрузіць тлумачэнне.",
  reusedAll: (until) => `Усе токены з кэша (${until}) выкарыстаны паўторна, астатняе новае.`,
  reused: (until, reusable) => `З ${reusable} токенаў у кэшы выкарыстана ${until}.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Падрабязна",
  leftOut: "Прапушчаныя паведамленні",
  diverges: (at) => `З токена ${at} гэты промпт адрозніваецца:`,
  goesOn: (at) => `Да токена ${at} усё было ў кэшы. Далей ішло:`,
  here: "тут",
  before: "раней",
  end: "(канец)",
  verified: (count, text) =>
    plural(count, { one: `Правераны ${text} блок з ніжэйшага ўзроўню.`, few: `Правераны ${text} блокі з ніжэйшых узроўняў.`, other: `Праверана ${text} блокаў з ніжэйшых узроўняў.` }),
  removedLines: (names) => `Прыбрана, каб сістэмны промпт не змяняўся: ${names}`,
  movedLines: (names) => `Перамешчана ў першае паведамленне, каб сістэмны промпт не змяняўся: ${names}`,

  promptLines: {
    "claude-code-billing-header": "загаловак аплаты Claude Code",
    "claude-code-git-status": "статус Git з Claude Code",
    "todays-date": "сённяшняя дата",
    "current-date": "бягучая дата",
    "current-date-and-time": "бягучыя дата і час",
    "goose-date": "дата з goose",
    "kimi-cli-date": "дата з Kimi CLI",
    "home-assistant-clock": "гадзіннік Home Assistant",
    "session-id": "ідэнтыфікатар сеанса",
    "removed-lines": "радкі налады removed-lines",
    "moved-lines": "радкі налады moved-lines",
  },
};
