import { pluralsOf } from "../plurals";
import type { OrganizeTexts } from "../en/organize";

const plural = pluralsOf("ar");

/** Return a count of chats as it stands after a noun. */
const chats = (count: number): string =>
  plural(count, { zero: `${count} دردشة`, one: "دردشة واحدة", two: "دردشتين", few: `${count} دردشات`, many: `${count} دردشة`, other: `${count} دردشة` });

/** Arabic texts for folders, tags and the selection of chats. */
export const texts: OrganizeTexts = {
  folders: "المجلدات",
  tags: "الوسوم",
  inFolder: (name, count) =>
    plural(count, {
      zero: `${name}، ${count} دردشة`,
      one: `${name}، دردشة واحدة`,
      two: `${name}، دردشتان`,
      few: `${name}، ${count} دردشات`,
      many: `${name}، ${count} دردشة`,
      other: `${name}، ${count} دردشة`,
    }),
  empty: "هذا المجلد فارغ.",
  remove: "حذف المجلد",
  removed: (name, parent) =>
    parent === null
      ? `تم حذف المجلد «${name}». انتقل محتواه إلى القائمة.`
      : `تم حذف المجلد «${name}». انتقل محتواه إلى «${parent}».`,
  notChanged: "لم يتغيّر المجلد.",
  deleted: (name) => `تم حذف «${name}».`,

  newFolder: "مجلد جديد",
  newInside: "مجلد جديد داخل هذا المجلد",
  settings: "إعدادات المجلد",
  place: "داخل",
  top: "ليس داخل مجلد آخر",
  systemPromptHint: "تبدأ به الدردشات الجديدة في هذا المجلد. تستخدمه المجلدات التي بداخله أيضًا ما لم يكن لها موجّه خاص.",

  back: "العودة إلى جميع الدردشات",
  backTo: (name) => `العودة إلى ${name}`,
  noArchived: "لا توجد دردشات مؤرشفة.",

  chat: {
    name: "اسم الدردشة",
    notRenamed: "لم تُعَد تسمية الدردشة.",
    rename: "إعادة تسمية",
    pin: "تثبيت",
    unpin: "إلغاء التثبيت",
    kept: {
      all: (size) => `التخزين المؤقت محفوظ على القرص: ${size}`,
      full: (size) => `التخزين المؤقت محفوظ جزئيًا: ${size}. المساحة المحجوزة لك ممتلئة.`,
      begun: (size) => `التخزين المؤقت محفوظ جزئيًا: ${size}. سيُحفظ الباقي مع الإجابة التالية.`,
      unreserved: "قد يُفقد التخزين المؤقت: لا توجد مساحة محجوزة لك.",
      later: "سيُحفظ التخزين المؤقت ابتداءً من الإجابة التالية.",
      away: "قد يُفقد التخزين المؤقت: القرص غير متاح.",
    },
    archive: "أرشفة",
    unarchive: "إلغاء الأرشفة",
    organize: "المجلد والوسوم…",
    select: "تحديد دردشات",
    share: "مشاركة…",
    exportMarkdown: "تصدير بتنسيق Markdown",
    exportText: "تصدير كنص عادي",
    exportJson: "تصدير بتنسيق JSON",
    exportAll: "تصدير جميع الدردشات",
    import: "استيراد دردشات…",
    delete: "حذف",
    deleteTitle: "هل تريد حذف هذه الدردشة؟",
    deleteText: (title) => `تنتقل «${title}» إلى «المحذوفة مؤخرًا». يمكنك استعادتها من هناك.`,
    deleted: (title) => `تم حذف «${title}».`,
    archivedNotice: (title) => `تمت أرشفة «${title}».`,
    notDeleted: "لم تُحذف الدردشة.",
    notRestored: "لم تُستعَد الدردشة.",
  },

  share: {
    title: (title) => `مشاركة «${title}»`,
    list: "الروابط المشتركة",
    note: "يمكن لأي شخص لديه الرابط قراءة الدردشة بحالتها الآن دون تسجيل الدخول. لا تظهر الرسائل اللاحقة ولا الفروع الأخرى ولا موجّه النظام ولا الأفكار.",
    leftOut: "تظهر المخططات والصور المضمَّنة هناك كنص.",
    days: "تنتهي الصلاحية بعد",
    day: (count) => plural(count, { zero: `${count} يوم`, one: "يوم واحد", two: "يومين", few: `${count} أيام`, many: `${count} يومًا`, other: `${count} يوم` }),
    receipts: "إظهار مكان التخزين المؤقت لكل موجّه",
    create: "إنشاء رابط",
    link: "الرابط",
    qr: "رمز QR للرابط",
    once: "انسخ الرابط الآن. لا يمكن عرضه مرة أخرى.",
    none: "لا توجد روابط مشتركة.",
    until: (time) => `تنتهي الصلاحية: ${time}`,
    remove: (title) => `حذف الرابط إلى ${title}`,
    delete: "حذف",
  },

  dialog: {
    title: (count) => (count === 1 ? "المجلد والوسوم" : `مجلد ووسوم ${chats(count)}`),
    changed: "تم تغيير المجلد والوسوم.",
    folder: "المجلد",
    none: "بلا مجلد",
    mixed: "إبقاؤها كما هي",
    create: "مجلد جديد…",
    name: "اسم المجلد",
    tags: "الوسوم",
    add: "إضافة وسم",
    hint: "اضغط Enter لإضافة الوسم.",
    take: (tag) => `إزالة الوسم ${tag}`,
  },

  filters: {
    count: (count) => (count === 0 ? "عوامل التصفية" : `عوامل التصفية: ${count}`),
    role: "الكاتب",
    roles: {
      "": "أي شخص",
      user: "أنت",
      assistant: "Ebb",
    },
    period: "الوقت",
    periods: {
      any: "أي وقت",
      day: "اليوم",
      week: "آخر 7 أيام",
      month: "آخر 30 يومًا",
      year: "آخر 12 شهرًا",
      range: "بين يومين…",
    },
    from: "اليوم الأول",
    to: "اليوم الأخير",
    folder: "المجلد",
    anyFolder: "أي مجلد",
    tag: "الوسم",
    anyTag: "أي وسم",
    archived: "الأرشيف",
    archives: {
      "": "جميع الدردشات",
      false: "بدون الدردشات المؤرشفة",
      true: "الدردشات المؤرشفة فقط",
    },
    clear: "مسح عوامل التصفية",
  },

  selection: {
    label: "الدردشات المحددة",
    count: (count) => `المحدد: ${count}`,
    all: "تحديد الكل",
    organize: "المجلد والوسوم…",
    archive: "أرشفة",
    unarchive: "إلغاء الأرشفة",
    export: "تصدير بتنسيق JSON",
    delete: "حذف",
    done: "إنهاء التحديد",
    deleteTitle: (count) => `هل تريد حذف ${chats(count)}؟`,
    deleteText: "ستنتقل إلى «المحذوفة مؤخرًا». يمكنك استعادتها من هناك.",
    deleted: (count) => `تم حذف ${chats(count)}.`,
    archived: (count) => `تمت أرشفة ${chats(count)}.`,
    unarchived: (count) => `تم إلغاء أرشفة ${chats(count)}.`,
    failed: "لم تتغيّر الدردشات.",
    notExported: "لم تُصدَّر الدردشات.",
    progress: (done, total) => `الدردشات: ${done} من ${total}`,
    partly: (done, total) => `تغيّر ${done} من ${total} من الدردشات.`,
  },
};
