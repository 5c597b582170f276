import { pluralsOf } from "../plurals";
import type { DialogTexts } from "../en/dialogs";

const plural = pluralsOf("ar");

/** Return a count of chats as it stands after a noun. */
const chats = (count: number): string =>
  plural(count, { zero: `${count} دردشة`, one: "دردشة واحدة", two: "دردشتين", few: `${count} دردشات`, many: `${count} دردشة`, other: `${count} دردشة` });

/** Arabic texts for the dialogs. */
export const texts: DialogTexts = {
  deleted: {
    note: "استعد دردشة أو احذفها نهائيًا. تُحتسب الدردشات هنا ضمن مساحتك التخزينية.",
    none: "لا توجد دردشات محذوفة مؤخرًا.",
    when: (time, left) => `وقت الحذف: ${time} · ${left}`,
    left: (days) => plural(days, { zero: `بقي ${days} يوم`, one: "بقي يوم واحد", two: "بقي يومان", few: `بقيت ${days} أيام`, many: `بقي ${days} يومًا`, other: `بقي ${days} يوم` }),
    leftToday: "بقي أقل من يوم",
    messages: "الرسائل المحذوفة",
    restore: "استعادة",
    restoreOf: (title) => `استعادة «${title}»`,
    restoreAll: "استعادة الكل",
    erase: "حذف نهائي",
    eraseOf: (title) => `حذف نهائي: «${title}»`,
    eraseAll: "حذف الكل نهائيًا",
    eraseTitle: (title) => `هل تريد حذف «${title}» نهائيًا؟`,
    eraseAllTitle: (count) => `هل تريد حذف ${chats(count)} نهائيًا؟`,
    eraseText: "لا يمكن التراجع عن ذلك.",
    allTitle: "هل تريد حذف جميع الدردشات؟",
    allText: "تنتقل جميع الدردشات، بما فيها المؤرشفة، إلى «المحذوفة مؤخرًا». يمكنك استعادتها من هناك.",
    allAction: "حذف الكل",
    allMoved: (count) => `تم حذف ${chats(count)}.`,
  },

  import: {
    imported: (count) => `تم استيراد ${chats(count)}.`,
    skipped: (count) =>
      plural(count, {
        zero: `كانت ${count} دردشة هنا من قبل.`,
        one: "كانت دردشة واحدة هنا من قبل.",
        two: "كانت دردشتان هنا من قبل.",
        few: `كانت ${count} دردشات هنا من قبل.`,
        many: `كانت ${count} دردشة هنا من قبل.`,
        other: `كانت ${count} دردشة هنا من قبل.`,
      }),
    notImported: "لم يُستورد شيء.",
    title: "استيراد الدردشات",
    drop: "أفلت ملفًا هنا أو اختر ملفًا",
    formats: "ملف تصدير من Ebb أو ChatGPT أو Claude أو llama.cpp أو LibreChat أو Open WebUI: ملف JSON أو أرشيف ZIP الذي يحتويه.",
    reading: "جارٍ قراءة الملف…",
    importing: "جارٍ الاستيراد…",
    found: (name, count) =>
      plural(count, {
        zero: `${count} دردشة من ${name}`,
        one: `دردشة واحدة من ${name}`,
        two: `دردشتان من ${name}`,
        few: `${count} دردشات من ${name}`,
        many: `${count} دردشة من ${name}`,
        other: `${count} دردشة من ${name}`,
      }),
    all: "جميع الدردشات",
    messages: (count) =>
      plural(count, { zero: `${count} رسالة`, one: "رسالة واحدة", two: "رسالتان", few: `${count} رسائل`, many: `${count} رسالة`, other: `${count} رسالة` }),
    branches: (count) => plural(count, { zero: `${count} فرع`, one: "فرع واحد", two: "فرعان", few: `${count} فروع`, many: `${count} فرعًا`, other: `${count} فرع` }),
    here: "موجودة هنا",
    leftOut: (parts) => `مستبعد: ${parts}`,
    kinds: {
      tools: (count) =>
        plural(count, {
          zero: `${count} رسالة أداة`,
          one: "رسالة أداة واحدة",
          two: "رسالتا أدوات",
          few: `${count} رسائل أدوات`,
          many: `${count} رسالة أداة`,
          other: `${count} رسالة أداة`,
        }),
      media: (count) =>
        plural(count, {
          zero: `${count} صورة أو تسجيل`,
          one: "صورة أو تسجيل واحد",
          two: "صورتان أو تسجيلان",
          few: `${count} صور أو تسجيلات`,
          many: `${count} صورة أو تسجيلًا`,
          other: `${count} صورة أو تسجيل`,
        }),
      files: (count) => plural(count, { zero: `${count} ملف`, one: "ملف واحد", two: "ملفان", few: `${count} ملفات`, many: `${count} ملفًا`, other: `${count} ملف` }),
      system: (count) =>
        plural(count, {
          zero: `${count} رسالة نظام`,
          one: "رسالة نظام واحدة",
          two: "رسالتا نظام",
          few: `${count} رسائل نظام`,
          many: `${count} رسالة نظام`,
          other: `${count} رسالة نظام`,
        }),
      failed: (count) => plural(count, { zero: `${count} خطأ`, one: "خطأ واحد", two: "خطآن", few: `${count} أخطاء`, many: `${count} خطأً`, other: `${count} خطأ` }),
      other: (count) =>
        plural(count, {
          zero: `${count} جزء آخر`,
          one: "جزء آخر واحد",
          two: "جزآن آخران",
          few: `${count} أجزاء أخرى`,
          many: `${count} جزءًا آخر`,
          other: `${count} جزء آخر`,
        }),
    },
    unreadable: (count) => `تتعذّر قراءة ${chats(count)}`,
    act: (count) => `استيراد ${chats(count)}`,
    again: "اختيار ملف آخر",
    zip: {
      none: (name) => `لا يحتوي ${name} على conversations.json.`,
      broken: (name) => `الملف ${name} تالف، أو من نوع ZIP تتعذّر قراءته هنا. فُكّ ضغطه واختر ملف JSON.`,
      tooBig: (name) => `الملف ${name} كبير جدًا: الحد الأقصى \u206664 MiB\u2069 من JSON.`,
    },
  },

  tree: {
    note: "تشير النقاط الممتلئة إلى الرسائل المعروضة. اختر رسالة لعرض فرعها.",
    empty: "(فارغة)",
  },

  settings: {
    title: "إعدادات الدردشة",
    system: "موجّه النظام",
    systemHint: "كيف ينبغي أن يتصرف النموذج",
    temperature: "درجة الحرارة",
    maxTokens: "حد التوكنات",
    topP: "Top p",
    topK: "Top k",
    minP: "Min p",
    repetition: "عقوبة التكرار",
    presence: "عقوبة الحضور",
    frequency: "عقوبة معدّل التكرار",
    stop: "تسلسلات الإيقاف (واحد في كل سطر)",
    seed: "البذرة",
    more: "إعدادات متقدمة لأخذ العينات",
    window: (tokens) => `نافذة السياق: ${tokens} توكن`,
    random: "عشوائي",
    noLimit: "بلا حد",
    default: "افتراضي",
    thinking: "التفكير",
    modes: {
      slow: "التفكير أولًا دائمًا",
      auto: "ترك القرار للنموذج",
      off: "الإجابة فورًا",
    },
    note: "تسري التغييرات من الرسالة التالية. يستخدم الحقل الفارغ القيمة الافتراضية المعروضة.",
  },

  presets: {
    label: "الإعداد المسبق",
    none: "اختر إعدادًا مسبقًا…",
    ofNewChats: (name) => `${name} (الدردشات الجديدة)`,
    add: "حفظ كإعداد مسبق…",
    change: "تغيير الإعداد المسبق…",
    remove: "حذف الإعداد المسبق",
    name: "اسم الإعداد المسبق",
    default: "استخدامه للدردشات الجديدة",
    save: "حفظ الإعداد المسبق",
  },

  appearance: {
    theme: "السمة",
    themes: {
      system: "النظام",
      light: "فاتح",
      dark: "داكن",
    },
    size: "حجم النص",
    language: "اللغة",
    notifications: "الإشعارات",
    notify: "إرسال إشعار عند انتهاء إجابة وعلامة التبويب هذه مخفية",
    notifyInsecure: "تتطلب الإشعارات وتثبيت Ebb كتطبيق اتصال HTTPS أو متصفحًا على حاسوب الخادم نفسه.",
    notifyRefused: "لا يسمح المتصفح بالإشعارات لهذه الصفحة.",
    tierMarks: "إظهار مكان التخزين المؤقت لكل دردشة",
    tierMarksNote: "كلما كان التخزين المؤقت للدردشة أقرب، بدأت إجابتها التالية أسرع.",
  },

  help: {
    title: "اختصارات لوحة المفاتيح",
    palette: "البحث في الدردشات والأوامر",
    search: "البحث في قائمة الدردشات",
    new: "دردشة جديدة",
    sidebar: "إظهار قائمة الدردشات أو إخفاؤها",
    send: "إرسال الرسالة",
    prompts: "الموجّهات المحفوظة، في رسالة فارغة",
    newline: "سطر جديد",
    stop: "إيقاف الإجابة أو إغلاق اللوحة المفتوحة",
    walk: "الدردشة السابقة أو التالية في القائمة",
    undo: "التراجع عن حذف أو أرشفة",
    branches: "النسخة السابقة أو التالية، مع التركيز على ‹ ›",
    this: "هذه القائمة",
    change: (action) => `تغيير المفاتيح: ${action}`,
    press: "اضغط المفاتيح الجديدة، أو Esc",
    without: (ctrl) => `اضغط باستمرار على ${ctrl} مع حرف أو رمز آخر.`,
    occupied: (keys) => `الاختصار ${keys} محجوز للمتصفح أو لحقول النص. اختر مفاتيح أخرى.`,
    taken: (keys, action) => `الاختصار ${keys} مستخدم: ${action}. اختر مفاتيح أخرى.`,
    reset: "استعادة المفاتيح الافتراضية",
  },
};
