import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sr");

/** Serbian texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Порука је предугачка",
    text: (used, window) => `Са овом поруком ћаскање би имало токена: ${used}. Модел чита мање од ${window}.`,
    farTooLong: (window) => `Са овом поруком ћаскање је много дуже него што модел може да прочита (токена: ${window}).`,
    shorten: "Скратите је или:",
    shortenAlone: "Скратите је.",
    remove: (name) => `Уклони ${name}`,
    leave: (messages) =>
      messages === 1
        ? "Пошаљи без прве поруке"
        : plural(messages, { one: `Пошаљи без прве ${messages} поруке`, few: `Пошаљи без прве ${messages} поруке`, other: `Пошаљи без првих ${messages} порука` }),
    summarize: (messages) =>
      messages === 1
        ? "Сажми прву поруку"
        : plural(messages, { one: `Сажми прву ${messages} поруку`, few: `Сажми прве ${messages} поруке`, other: `Сажми првих ${messages} порука` }),
    summarizing: "Модел пише сажетак. Порука се шаље после тога.",
    leaveTitle: "Остају у ћаскању, али их модел више не види.",
    move: "Питај у новом ћаскању",
  },

  allSeen: "Одавде модел поново види све поруке.",
  leftOut: (messages) =>
    messages === 1
      ? "Одавде модел више не види прву поруку."
      : plural(messages, {
          one: `Одавде модел више не види прву ${messages} поруку.`,
          few: `Одавде модел више не види прве ${messages} поруке.`,
          other: `Одавде модел више не види првих ${messages} порука.`,
        }),

  summary: "Сажетак",
  summarized: (messages) =>
    messages === 1
      ? "Одавде модел види сажетак прве поруке."
      : plural(messages, {
          one: `Одавде модел види сажетак прве ${messages} поруке.`,
          few: `Одавде модел види сажетак прве ${messages} поруке.`,
          other: `Одавде модел види сажетак првих ${messages} порука.`,
        }),

  overflow: {
    server: "Ова порука је превелика за сервер, па остаје само у овом прегледачу. Скратите је или изоставите неки фајл.",
    browser: "Ова порука је превелика да би се чувала до слања. Изгубиће се ако затворите или поново учитате страницу.",
  },

  notRead: (name) => `${name} није прочитан.`,

  unreadable: {
    tooBig: (name) => `${name} има више од 512 KiB текста. Приложите део који је важан.`,
    tooBigPdf: (name) => `${name} је већи од 32 MiB. Приложите део који је важан.`,
    noText: (name) => `${name} није текстуални фајл, PDF, docx, xlsx, pptx ни epub. Модел чита само текст: документ сачувајте у неком од тих формата.`,
    old: (name) => `${name} је у старом офис формату. Сачувајте га као docx, xlsx или pptx и приложите то.`,
    empty: (name) => `${name} не садржи текст. Текст на сликама прво мора да се препозна.`,
    tooCostly: (name) => `Читање фајла ${name} захтева превише меморије или времена. Приложите део који је важан.`,
    scanned: (name) => `${name} не садржи текст, већ само скениране странице. Прво препознајте текст.`,
    encrypted: (name) => `${name} је заштићен лозинком. Сачувајте копију без лозинке и приложите је.`,
    broken: (name) => `${name} је оштећен и не може да се прочита. Поново га сачувајте или преузмите.`,
    gone: (name) => `${name} не може да се отвори. Ако је то фасцикла, изаберите фајлове у њој, а иначе га поново изаберите.`,
  },
};
