import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";

const plural = pluralsOf("ar");

/** Return the first messages of a chat. */
const first = (messages: number): string =>
  plural(messages, {
    zero: `أول ${messages} رسالة`,
    one: "أول رسالة",
    two: "أول رسالتين",
    few: `أول ${messages} رسائل`,
    many: `أول ${messages} رسالة`,
    other: `أول ${messages} رسالة`,
  });

/** Arabic texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: FileTexts = {
  tooLong: {
    title: "الرسالة طويلة جدًا",
    text: (used, window) => `مع هذه الرسالة تبلغ الدردشة ${used} توكن. يقرأ النموذج أقل من ${window}.`,
    farTooLong: (window) => `مع هذه الرسالة تصبح الدردشة أطول بكثير مما يقرؤه النموذج، وهو ${window} توكن.`,
    shorten: "اختصرها، أو:",
    shortenAlone: "اختصرها.",
    remove: (name) => `إزالة ${name}`,
    leave: (messages) => `الإرسال بدون ${first(messages)}`,
    summarize: (messages) => `تلخيص ${first(messages)}`,
    summarizing: "يكتب النموذج الملخّص. تُرسل الرسالة بعد ذلك.",
    leaveTitle: "تبقى في الدردشة، لكن النموذج لن يراها بعد الآن.",
    move: "السؤال في دردشة جديدة",
  },

  allSeen: "من هنا يرى النموذج جميع الرسائل من جديد.",
  leftOut: (messages) => `من هنا لم يعد النموذج يرى ${first(messages)}.`,

  summary: "الملخّص",
  summarized: (messages) => `من هنا يرى النموذج ملخّص ${first(messages)}.`,

  overflow: {
    server: "هذه الرسالة أكبر من أن يقبلها الخادم، لذلك تبقى في هذا المتصفح فقط. اختصرها أو أزل ملفًا منها.",
    browser: "هذه الرسالة أكبر من أن تُحفظ حتى ترسلها. ستُفقد إذا أغلقت الصفحة أو أعدت تحميلها.",
  },

  notRead: (name) => `لم يُقرأ ${name}.`,

  unreadable: {
    tooBig: (name) => `يحتوي ${name} على أكثر من \u2066512 KiB\u2069 من النص. أرفق الجزء المهم.`,
    tooBigPdf: (name) => `حجم ${name} أكبر من \u206632 MiB\u2069. أرفق الجزء المهم.`,
    noText: (name) => `الملف ${name} ليس ملفًا نصيًا ولا PDF أو docx أو xlsx أو pptx أو epub. لا يقرأ النموذج سوى النصوص: إن كان مستندًا فاحفظه بأحد هذه التنسيقات.`,
    old: (name) => `الملف ${name} بتنسيق Office قديم. احفظه بتنسيق docx أو xlsx أو pptx وأرفقه.`,
    empty: (name) => `لا يحتوي ${name} على نص. صور النصوص تحتاج أولًا إلى التعرف الضوئي على النص.`,
    tooCostly: (name) => `تتطلب قراءة ${name} ذاكرة أو وقتًا أكثر من اللازم. أرفق الجزء المهم.`,
    scanned: (name) => `لا يحتوي ${name} على نص، بل صفحات ممسوحة ضوئيًا فقط. شغّل عليه أولًا التعرف الضوئي على النص.`,
    encrypted: (name) => `الملف ${name} محمي بكلمة مرور. احفظ نسخة بدونها وأرفقها.`,
    broken: (name) => `الملف ${name} تالف وتتعذّر قراءته. احفظه أو نزّله مرة أخرى.`,
    gone: (name) => `يتعذّر فتح ${name}. إن كان مجلدًا فاختر الملفات التي فيه، وإلا فاختره مرة أخرى.`,
  },
};
