import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("bg");

/** Bulgarian texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Съобщението е твърде дълго",
    text: (used, window) => `Със съобщението този чат би имал ${used} токена. Моделът чете по-малко от ${window}.`,
    farTooLong: (window) => `Със съобщението този чат е много по-дълъг от ${window} токена, които чете моделът.`,
    shorten: "Съкратете го или:",
    shortenAlone: "Съкратете го.",
    remove: (name) => `Премахване на ${name}`,
    leave: (messages) => plural(messages, { one: "Изпращане без първото съобщение", other: `Изпращане без първите ${messages} съобщения` }),
    summarize: (messages) => plural(messages, { one: "Обобщаване на първото съобщение", other: `Обобщаване на първите ${messages} съобщения` }),
    summarizing: "Моделът пише обобщението. След това съобщението ще бъде изпратено.",
    leaveTitle: "Те остават в чата, но моделът вече не ги вижда.",
    move: "Задаване на въпроса в нов чат",
  },

  allSeen: "Оттук нататък моделът отново вижда всички съобщения.",
  leftOut: (messages) =>
    plural(messages, {
      one: "Оттук нататък моделът вече не вижда първото съобщение.",
      other: `Оттук нататък моделът вече не вижда първите ${messages} съобщения.`,
    }),

  summary: "Обобщение",
  summarized: (messages) =>
    plural(messages, {
      one: "Оттук нататък моделът вижда обобщение на първото съобщение.",
      other: `Оттук нататък моделът вижда обобщение на първите ${messages} съобщения.`,
    }),

  overflow: {
    server: "Това съобщение е твърде голямо за сървъра, затова остава само в този браузър. Съкратете го или премахнете някой файл.",
    browser: "Това съобщение е твърде голямо, за да се пази до изпращането. Ще се изгуби, ако затворите или презаредите страницата.",
  },

  notRead: (name) => `${name} не е прочетен.`,

  unreadable: {
    tooBig: (name) => `${name} съдържа над 512 KiB текст. Прикачете нужната част.`,
    tooBigPdf: (name) => `${name} е по-голям от 32 MiB. Прикачете нужната част.`,
    noText: (name) => `${name} не е текстов файл, PDF, docx, xlsx, pptx или epub. Моделът чете само текст: запазете документа в един от тези формати.`,
    old: (name) => `${name} е в стар офис формат. Запазете го като docx, xlsx или pptx и прикачете него.`,
    empty: (name) => `${name} не съдържа текст. Текстът в изображенията първо трябва да бъде разпознат.`,
    tooCostly: (name) => `Четенето на ${name} изисква твърде много памет или време. Прикачете нужната част.`,
    scanned: (name) => `${name} не съдържа текст, а само сканирани страници. Първо разпознайте текста.`,
    encrypted: (name) => `${name} е защитен с парола. Запазете копие без парола и прикачете него.`,
    broken: (name) => `${name} е повреден и не може да се прочете. Запазете го или го изтеглете отново.`,
    gone: (name) => `${name} не може да се отвори. Ако е папка, изберете файловете в нея, иначе го изберете отново.`,
  },
};
