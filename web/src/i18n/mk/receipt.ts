import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("mk");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Повторно е искористено сѐ освен последниот токен: тој секогаш се пресметува.",
  never_seen: "Колку што му е познато на серверот, продолжението сѐ уште не е пресметувано.",
  template_changed: "Системскиот промпт, шаблонот на разговорот или токенизаторот се разликува од претходниот.",
  messages_left_out: "Од оваа порака промптот повеќе не ги содржи првите пораки на разговорот или повторно ги содржи.",
  evicted: "Продолжението беше пресметано, но е исфрлено од кешот.",
  expired: "Продолжението беше пресметано, но долго не е користено и истече.",
  computed_otherwise: "Продолжението беше пресметано, но со друга верзија на Ebb, друг модел или друг начин на пресметување.",
  rejected: "Продолжението беше пресметано, но неговите податоци се оштетени, се од друг модел или не се запишани со клучот на овој сервер.",
  breaker_open: "Продолжението беше пресметано, но едно од нивоата на кешот не одговара и засега не се користи.",
  not_worth_loading: "Продолжението беше пресметано, но веројатно е побрзо да се пресмета повторно.",
  not_brought: "Продолжението беше пресметано, но не можеше да се вчита: немаше место во меморијата на CPU или копирањето на уредот не успеа.",
  partial_block: "Продолжението беше пресметано, но не пополнува цел блок. Сигурно се чуваат само цели блокови.",
  off: "Серверот работи со --no-prefix-cache и ништо не користи повторно.",
};

/** Macedonian texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `пресметано: ${tokens}`,
  first: (tokens, total, from) => `${tokens} од ${total} токени од ${from}`,
  other: (tokens, from) => `${tokens} од ${from}`,
  firstToken: (time) => `прв токен по ${time}`,
  insteadOf: (time) => ` наместо околу ${time}`,
  speed: (tokens) => `${tokens} токени/s`,
  prompt: "Промпт",
  recomputed: "Пресметано",
  typed: (from) => `Вратено од ${from} додека пишувавте`,
  phases: {
    queue: "На чекање",
    lookup: "Пребарување во кешот",
    load: "Вчитување блокови",
    prefill: "Пресметување",
  },
  timeToFirstToken: "Време до првиот токен",
  answer: "Одговор",
  form: "Баран формат",
  forms: { valid: "запазен", invalid: "незапазен", unchecked: "непроверен" },
  rate: "Брзина",
  total: "Вкупно",
  cost: "Цена",
  why: "Зошто не е искористено повеќе?",
  looking: "Објаснувањето се вчитува…",
  failed: "Објаснувањето не можеше да се вчита.",
  reusedAll: (until) => `Сите токени од кешот (${until}) се искористени повторно; останатото е ново.`,
  reused: (until, reusable) => `Повторно се искористени ${until} од ${reusable} токени во кешот.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Напредно",
  leftOut: "Изоставени пораки",
  diverges: (at) => `Од токенот ${at} овој промпт се разликува:`,
  goesOn: (at) => `Сѐ до токенот ${at} беше во кешот. Потоа следи:`,
  here: "тука",
  before: "претходно",
  end: "(крај)",
  verified: (count, text) => plural(count, { one: `Проверен е ${text} блок од пониско ниво.`, other: `Проверени се ${text} блокови од пониски нивоа.` }),
  removedLines: (names) => `Изоставено за да не се менува системскиот промпт: ${names}`,
  movedLines: (names) => `Преместено во првата порака за да не се менува системскиот промпт: ${names}`,

  promptLines: {
    "claude-code-billing-header": "заглавието за наплата на Claude Code",
    "claude-code-git-status": "состојбата на Git од Claude Code",
    "todays-date": "денешниот датум",
    "current-date": "тековниот датум",
    "current-date-and-time": "тековниот датум и време",
    "goose-date": "датумот од goose",
    "kimi-cli-date": "датумот од Kimi CLI",
    "home-assistant-clock": "часовникот на Home Assistant",
    "session-id": "идентификатор на сесијата",
    "removed-lines": "редови од поставката removed-lines",
    "moved-lines": "редови од поставката moved-lines",
  },
};
