import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("mk");

/** Macedonian texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Пораката е предолга",
    text: (used, window) => `Со пораката овој разговор би имал ${used} токени. Моделот чита помалку од ${window}.`,
    farTooLong: (window) => `Со пораката овој разговор е многу подолг од ${window} токени, колку што чита моделот.`,
    shorten: "Скратете ја или:",
    shortenAlone: "Скратете ја.",
    remove: (name) => `Отстрани ${name}`,
    leave: (messages) =>
      messages === 1
        ? "Испрати без првата порака"
        : plural(messages, { one: `Испрати без првата ${messages} порака`, other: `Испрати без првите ${messages} пораки` }),
    summarize: (messages) =>
      messages === 1 ? "Резимирај ја првата порака" : plural(messages, { one: `Резимирај ја првата ${messages} порака`, other: `Резимирај ги првите ${messages} пораки` }),
    summarizing: "Моделот го пишува резимето. Пораката се испраќа потоа.",
    leaveTitle: "Остануваат во разговорот, но моделот повеќе не ги гледа.",
    move: "Прашај во нов разговор",
  },

  allSeen: "Оттука моделот повторно ги гледа сите пораки.",
  leftOut: (messages) =>
    messages === 1
      ? "Оттука моделот повеќе не ја гледа првата порака."
      : plural(messages, {
          one: `Оттука моделот повеќе не ја гледа првата ${messages} порака.`,
          other: `Оттука моделот повеќе не ги гледа првите ${messages} пораки.`,
        }),

  summary: "Резиме",
  summarized: (messages) =>
    messages === 1
      ? "Оттука моделот гледа резиме на првата порака."
      : plural(messages, {
          one: `Оттука моделот гледа резиме на првата ${messages} порака.`,
          other: `Оттука моделот гледа резиме на првите ${messages} пораки.`,
        }),

  overflow: {
    server: "Пораката е преголема за серверот, па останува само во овој прелистувач. Скратете ја или отстранете некоја датотека.",
    browser: "Пораката е преголема за да се чува до испраќањето. Ќе се изгуби ако ја затворите или повторно ја вчитате страницата.",
  },

  notRead: (name) => `${name} не е прочитана.`,

  unreadable: {
    tooBig: (name) => `${name} има повеќе од 512 KiB текст. Прикачете го делот што е важен.`,
    tooBigPdf: (name) => `${name} е поголема од 32 MiB. Прикачете го делот што е важен.`,
    noText: (name) => `${name} не е текстуална датотека, PDF, docx, xlsx, pptx или epub. Моделот чита само текст: зачувајте го документот во еден од овие формати.`,
    old: (name) => `${name} е во стар формат на Office. Зачувајте ја како docx, xlsx или pptx и прикачете ја така.`,
    empty: (name) => `${name} не содржи текст. Текстот на сликите прво треба да се препознае.`,
    tooCostly: (name) => `Читањето на ${name} бара премногу меморија или време. Прикачете го делот што е важен.`,
    scanned: (name) => `${name} не содржи текст, само скенирани страници. Прво препознајте го текстот.`,
    encrypted: (name) => `${name} е заштитена со лозинка. Зачувајте копија без лозинка и прикачете ја неа.`,
    broken: (name) => `${name} е оштетена и не може да се прочита. Зачувајте ја или преземете ја повторно.`,
    gone: (name) => `${name} не може да се отвори. Ако е папка, изберете ги датотеките во неа, инаку изберете ја повторно.`,
  },
};
