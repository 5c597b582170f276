import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("ur");

/** Urdu texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "پیغام بہت لمبا ہے",
    text: (used, window) => `پیغام سمیت اس چیٹ میں ${used} ٹوکنز ہوں گے۔ ماڈل ${window} سے کم پڑھتا ہے۔`,
    farTooLong: (window) => `پیغام سمیت یہ چیٹ اُن ${window} ٹوکنز سے کہیں لمبی ہے جو ماڈل پڑھتا ہے۔`,
    shorten: "اسے مختصر کریں، یا:",
    shortenAlone: "اسے مختصر کریں۔",
    remove: (name) => `${name} ہٹائیں`,
    leave: (messages) => plural(messages, { one: "پہلے پیغام کے بغیر بھیجیں", other: `پہلے ${messages} پیغامات کے بغیر بھیجیں` }),
    summarize: (messages) => plural(messages, { one: "پہلے پیغام کا خلاصہ کریں", other: `پہلے ${messages} پیغامات کا خلاصہ کریں` }),
    summarizing: "ماڈل خلاصہ لکھ رہا ہے۔ پیغام اس کے بعد بھیجا جائے گا۔",
    leaveTitle: "وہ چیٹ میں رہتے ہیں، لیکن ماڈل انہیں مزید نہیں دیکھتا۔",
    move: "نئی چیٹ میں پوچھیں",
  },

  allSeen: "یہاں سے آگے ماڈل دوبارہ تمام پیغامات دیکھتا ہے۔",
  leftOut: (messages) => plural(messages, { one: "یہاں سے آگے ماڈل پہلا پیغام نہیں دیکھتا۔", other: `یہاں سے آگے ماڈل پہلے ${messages} پیغامات نہیں دیکھتا۔` }),

  summary: "خلاصہ",
  summarized: (messages) => plural(messages, { one: "یہاں سے آگے ماڈل پہلے پیغام کا خلاصہ دیکھتا ہے۔", other: `یہاں سے آگے ماڈل پہلے ${messages} پیغامات کا خلاصہ دیکھتا ہے۔` }),

  overflow: {
    server: "یہ پیغام سرور کے لیے بہت بڑا ہے، اس لیے یہ صرف اسی براؤزر میں رہے گا۔ اسے مختصر کریں یا کوئی فائل ہٹائیں۔",
    browser: "یہ پیغام اتنا بڑا ہے کہ بھیجنے تک محفوظ نہیں رکھا جا سکتا۔ صفحہ بند یا دوبارہ لوڈ کرنے پر یہ ضائع ہو جائے گا۔",
  },

  notRead: (name) => `${name} نہیں پڑھی گئی۔`,

  unreadable: {
    tooBig: (name) => `فائل ${name} میں 512 KiB سے زیادہ متن ہے۔ صرف ضروری حصہ منسلک کریں۔`,
    tooBigPdf: (name) => `فائل ${name} کا سائز 32 MiB سے زیادہ ہے۔ صرف ضروری حصہ منسلک کریں۔`,
    noText: (name) => `فائل ${name} متن، PDF، docx، xlsx، pptx یا epub نہیں ہے۔ ماڈل صرف متن پڑھتا ہے: دستاویز ہو تو اسے ان میں سے کسی فارمیٹ میں محفوظ کریں۔`,
    old: (name) => `فائل ${name} پرانے آفس فارمیٹ میں ہے۔ اسے docx، xlsx یا pptx میں محفوظ کر کے منسلک کریں۔`,
    empty: (name) => `فائل ${name} میں کوئی متن نہیں۔ متن کی تصاویر کے لیے پہلے متن کی شناخت (OCR) ضروری ہے۔`,
    tooCostly: (name) => `فائل ${name} پڑھنے میں بہت زیادہ میموری یا وقت لگتا ہے۔ صرف ضروری حصہ منسلک کریں۔`,
    scanned: (name) => `فائل ${name} میں متن نہیں، صرف اسکین شدہ صفحات ہیں۔ پہلے اس پر متن کی شناخت (OCR) چلائیں۔`,
    encrypted: (name) => `فائل ${name} پاس ورڈ سے مقفل ہے۔ پاس ورڈ کے بغیر ایک نقل محفوظ کر کے منسلک کریں۔`,
    broken: (name) => `فائل ${name} خراب ہے اور پڑھی نہیں جا سکتی۔ اسے دوبارہ محفوظ یا ڈاؤن لوڈ کریں۔`,
    gone: (name) => `${name} کو کھولا نہیں جا سکتا۔ اگر یہ فولڈر ہے تو اس کی فائلیں منتخب کریں؛ ورنہ اسے دوبارہ منتخب کریں۔`,
  },
};
