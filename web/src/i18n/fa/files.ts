import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

/** Persian texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "پیام بیش از حد طولانی است",
    text: (used, window) => `این گفتگو با پیام ${used} توکن خواهد داشت. مدل کمتر از ${window} توکن می‌خواند.`,
    farTooLong: (window) => `این گفتگو با پیام بسیار طولانی‌تر از ${window} توکنی است که مدل می‌خواند.`,
    shorten: "آن را کوتاه کنید، یا:",
    shortenAlone: "آن را کوتاه کنید.",
    remove: (name) => `برداشتن ${name}`,
    leave: (messages) => (messages === 1 ? "ارسال بدون پیام نخست" : `ارسال بدون ${messages} پیام نخست`),
    summarize: (messages) => (messages === 1 ? "خلاصه کردن پیام نخست" : `خلاصه کردن ${messages} پیام نخست`),
    summarizing: "مدل در حال نوشتن خلاصه است. پیام پس از آن ارسال می‌شود.",
    leaveTitle: "در گفتگو می‌مانند، اما مدل دیگر آن‌ها را نمی‌بیند.",
    move: "پرسیدن در گفتگوی جدید",
  },

  allSeen: "از اینجا به بعد، مدل دوباره همهٔ پیام‌ها را می‌بیند.",
  leftOut: (messages) => `از اینجا به بعد، مدل دیگر ${messages === 1 ? "پیام نخست" : `${messages} پیام نخست`} را نمی‌بیند.`,

  summary: "خلاصه",
  summarized: (messages) => `از اینجا به بعد، مدل خلاصهٔ ${messages === 1 ? "پیام نخست" : `${messages} پیام نخست`} را می‌بیند.`,

  overflow: {
    server: "این پیام برای سرور بیش از حد بزرگ است و به همین دلیل فقط در همین مرورگر می‌ماند. آن را کوتاه کنید یا فایلی را بردارید.",
    browser: "این پیام بزرگ‌تر از آن است که تا ارسال نگه داشته شود. با بستن یا بارگذاری دوبارهٔ صفحه از دست می‌رود.",
  },

  notRead: (name) => `${name} خوانده نشد.`,

  unreadable: {
    tooBig: (name) => `فایل ${name} بیش از \u2066512 KiB\u2069 متن دارد. بخش مهم آن را پیوست کنید.`,
    tooBigPdf: (name) => `فایل ${name} بزرگ‌تر از \u206632 MiB\u2069 است. بخش مهم آن را پیوست کنید.`,
    noText: (name) => `فایل ${name} متنی، PDF، docx، xlsx، pptx یا epub نیست. مدل فقط متن می‌خواند: اگر سند است، آن را با یکی از این قالب‌ها ذخیره کنید.`,
    old: (name) => `فایل ${name} قالب قدیمی Office دارد. آن را با قالب docx، xlsx یا pptx ذخیره و پیوست کنید.`,
    empty: (name) => `فایل ${name} متنی ندارد. تصویر متن ابتدا به تشخیص متن نیاز دارد.`,
    tooCostly: (name) => `خواندن ${name} حافظه یا زمان زیادی می‌خواهد. بخش مهم آن را پیوست کنید.`,
    scanned: (name) => `فایل ${name} متنی ندارد و فقط صفحه‌های اسکن‌شده است. ابتدا تشخیص متن را روی آن اجرا کنید.`,
    encrypted: (name) => `فایل ${name} با گذرواژه قفل شده است. رونوشتی بدون گذرواژه ذخیره و پیوست کنید.`,
    broken: (name) => `فایل ${name} خراب است و خوانده نمی‌شود. آن را دوباره ذخیره یا دانلود کنید.`,
    gone: (name) => `${name} باز نمی‌شود. اگر پوشه است، فایل‌های درون آن را انتخاب کنید؛ وگرنه دوباره انتخابش کنید.`,
  },
};
