import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("mk");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Исклучено.",
  full: "Полно: засега не се примаат нови блокови.",
  unused: "Одговара неправилно и засега не се користи.",
  refusing: "Одбива запишување. Блоковите сѐ уште се читаат.",
  slow: "Бавно: блоковите чекаат запишување.",
  other: "Дефект. Деталите се во дневникот на серверот.",
};

/** Macedonian texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Што прави целиот сервер, секунда по секунда. Графиконите прикажуваат до пет минути.",
  oneMemory: "Меморијата на уредот и меморијата на CPU тука се дел од нејзиниот RAM.",
  states: {
    connecting: "Поврзување…",
    live: "Во живо",
    away: "Серверот не одговара. Показателите сами ќе продолжат.",
  },
  starting: "Показателите се појавуваат штом моделот е подготвен.",
  refused: "Ова се показателите на целиот сервер.",
  refusedTodo: "Најавете се со администраторски клуч за да ги видите.",
  generated: "Генерирани",
  prompts: "Промптови",
  running: "Во тек",
  waiting: "На чекање",
  batch: "Големина на групата",
  tokensPerSecond: "токени/s",
  requests: "Барања",
  requestsUnit: "барања",
  blocks: "блокови/s",
  perStep: "по чекор",
  computed: "Пресметани",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "сега",
  used: (used, capacity) => `${used} од ${capacity}`,
  usedOnly: (used) => `${used}, без ограничување`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Пополнетост",
  hitRate: "Удел на погодоци",
  hitRateNote: "Колкав дел од токените на промптови барани на ова ниво во последната минута е пронајден",
  evictions: "Исфрлања",
  blocksPerSecond: (blocks) => `${blocks} блокови/s`,
  byPerson: "По корисник",
  others: "други",
  shared: "заедничко за сите",
  in: "Влез",
  out: "Излез",
  traffic: (tier) => `${tier}, влез и излез`,
  connection: "Врска",
  connections: { closed: "работи", open: "не се користи по грешки", "half-open": "повторно се проверува" },
  replicas: "Реплики",
  replica: (index) => `Реплика ${index}`,
  replicaStates: {
    ok: "работи",
    starting: "се стартува",
    failed: "откажа",
  },
  replicaAnswers: (count) => plural(count, { one: `${count} одговор`, other: `${count} одговори` }),
  replicaRestarts: (count) => plural(count, { one: `${count} рестартирање`, other: `${count} рестартирања` }),
  routes: "Испратени барања",
  routesUnit: "во секунда",
  predicted: "Прв токен, предвидено / измерено",
  predictedNote: "Просечно време од изборот на репликата до првиот токен, во последната минута",
  takeovers: "Преземени одговори",
  table: "Графиконите како табела",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Показател",
    now: "Сега",
    mean: "Просек",
    most: "Максимум",
  },
};
