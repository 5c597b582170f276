import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("he");

/** Return the first messages of a chat. */
const first = (messages: number): string =>
  plural(messages, { one: "ההודעה הראשונה", two: "שתי ההודעות הראשונות", other: `${messages} ההודעות הראשונות` });

/** Hebrew texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "ההודעה ארוכה מדי",
    text: (used, window) => `עם ההודעה יהיו בצ׳אט הזה ${used} טוקנים. המודל קורא פחות מ-${window}.`,
    farTooLong: (window) => `עם ההודעה הצ׳אט הזה ארוך בהרבה מ-${window} הטוקנים שהמודל קורא.`,
    shorten: "אפשר לקצר אותה, או:",
    shortenAlone: "אפשר לקצר אותה.",
    remove: (name) => `הסרת ${name}`,
    leave: (messages) => `שליחה בלי ${first(messages)}`,
    summarize: (messages) => `סיכום ${first(messages)}`,
    summarizing: "המודל כותב את הסיכום. ההודעה תישלח אחר כך.",
    leaveTitle: "הן נשארות בצ׳אט, אבל המודל כבר לא רואה אותן.",
    move: "לשאול בצ׳אט חדש",
  },

  allSeen: "מכאן והלאה המודל שוב רואה את כל ההודעות.",
  leftOut: (messages) => `מכאן והלאה המודל כבר לא רואה את ${first(messages)}.`,

  summary: "סיכום",
  summarized: (messages) => `מכאן והלאה המודל רואה סיכום של ${first(messages)}.`,

  overflow: {
    server: "ההודעה הזו גדולה מדי לשרת, ולכן היא נשארת רק בדפדפן הזה. אפשר לקצר אותה או להשמיט קובץ.",
    browser: "ההודעה הזו גדולה מכדי להישמר עד השליחה. היא תאבד אם הדף ייסגר או ייטען מחדש.",
  },

  notRead: (name) => `${name} לא נקרא.`,

  unreadable: {
    tooBig: (name) => `הקובץ ${name} מכיל יותר מ-\u2066512 KiB\u2069 של טקסט. יש לצרף את החלק החשוב.`,
    tooBigPdf: (name) => `הקובץ ${name} גדול מ-\u206632 MiB\u2069. יש לצרף את החלק החשוב.`,
    noText: (name) => `הקובץ ${name} אינו קובץ טקסט, PDF, docx, xlsx, pptx או epub. המודל קורא טקסט בלבד: אם זה מסמך, יש לשמור אותו באחד מהפורמטים האלה.`,
    old: (name) => `הקובץ ${name} בפורמט Office ישן. יש לשמור אותו כ-docx, xlsx או pptx ולצרף.`,
    empty: (name) => `אין טקסט בקובץ ${name}. תמונות של טקסט דורשות תחילה זיהוי טקסט.`,
    tooCostly: (name) => `קריאת ${name} דורשת יותר מדי זיכרון או זמן. יש לצרף את החלק החשוב.`,
    scanned: (name) => `אין טקסט בקובץ ${name}, רק דפים סרוקים. יש להריץ עליו תחילה זיהוי טקסט.`,
    encrypted: (name) => `הקובץ ${name} נעול בסיסמה. יש לשמור עותק בלי סיסמה ולצרף אותו.`,
    broken: (name) => `הקובץ ${name} פגום ואי אפשר לקרוא אותו. יש לשמור או להוריד אותו שוב.`,
    gone: (name) => `לא ניתן לפתוח את ${name}. אם זו תיקייה, יש לבחור את הקבצים שבה; אחרת, יש לבחור אותו שוב.`,
  },
};
