import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";

const plural = pluralsOf("ar");

/** Arabic texts for the answer tools. */
export const texts: AnswerTexts = {
  edit: {
    field: "الإجابة المعدّلة",
    note: "تُتابع الرسالة التالية من نصك، ويُحتفظ بالأصل كنسخة.",
  },

  rating: {
    field: "ما المشكلة؟",
    note: "اختياري. تُحفظ ملاحظاتك مع الإجابة.",
  },

  compare: {
    title: "مقارنة الإجابات",
    note: "تُكتب جميع الإجابات في الوقت نفسه. قد تختلف الإجابات حتى مع الإعدادات نفسها ما لم تُحدَّد بذرة.",
    kept: "تبقى كل إجابة في الدردشة كنسخة.",
    column: (index) => `الإجابة ${index}`,
    temperature: (value) => `درجة الحرارة ${value}`,
    topP: (value) => `Top p: ${value}`,
    seed: (value) => `البذرة ${value}`,
    add: "إضافة إجابة",
    remove: (index) => `إزالة الإجابة ${index}`,
    start: "مقارنة",
    keep: "الاحتفاظ بهذه",
    merge: "دمج في إجابة واحدة",
    stop: (index) => `إيقاف الإجابة ${index}`,
    stopAll: "إيقاف الكل",
  },

  prompts: {
    title: "الموجّهات المحفوظة",
    search: "البحث عن موجّه",
    none: "لم يُعثر على موجّهات.",
    empty: "لا توجد موجّهات محفوظة بعد. احفظ نصًا تبدأ به رسائلك كثيرًا، ثم اكتب «/» في رسالة فارغة ليظهر هنا.",
    add: "موجّه جديد",
    edit: (name) => `تعديل «${name}»`,
    name: "اسم الموجّه",
    text: "النص",
    placeholders: "تُحدَّد لك العناصر النائبة بين أقواس مزدوجة، مثل {{المدينة}}، لتملأها.",
    remove: "حذف الموجّه",
  },

  files: {
    search: "البحث عن ملف",
    none: "لم يُعثر على ملفات. احتفظ بملف عند إرفاقه بالنقر على علامة الحفظ عليه.",
    size: (characters) => `${characters} حرف`,
    remove: (name) => `حذف ${name}`,
    delete: "حذف",
    confirm: "هل تريد حذف هذا الملف من ملفاتك؟ تبقى الدردشات التي تحتويه كما هي.",
  },

  find: {
    title: "البحث في هذه المحادثة",
    next: "النتيجة التالية",
    previous: "النتيجة السابقة",
    at: (at, total) => `${at} من ${total}`,
    none: "لم يُعثر على شيء",
  },

  queue: {
    title: "رسالة في الانتظار",
    waiting: "في الانتظار. ستُرسل عند اكتمال الإجابة.",
    now: "إرسال الآن",
    nowTitle: "يوقف الإجابة ويحتفظ بنصها",
    held: "لم تُرسل بعد: أُوقفت الإجابة، أو انتهت في غيابك.",
    files: (count) => plural(count, { zero: `${count} ملف`, one: "ملف واحد", two: "ملفان", few: `${count} ملفات`, many: `${count} ملفًا`, other: `${count} ملف` }),
  },

  reading: {
    progress: (done, total) => `قراءة الدردشة: ${done} من ${total} توكن`,
    left: (time) => `بقي نحو ${time}`,
  },

  models: {
    title: "النموذج",
    menu: (name) => `النموذج: ${name}`,
    states: { loaded: "في الذاكرة", unloaded: "يُحمَّل عندما تسأله", draining: "يجري إخراجه من الذاكرة", failed: "تعذّر تحميله" },
    reads: (tokens) => `عليه قراءة ${tokens} من هذه الدردشة`,
    known: "قرأ هذه الدردشة",
    tooLong: "هذه الدردشة أطول مما يستوعبه",
    noAnswers: "يُستخدم للتضمين وترتيب النصوص فقط، ولا يجيب",
  },

  regenerate: {
    title: "إعادة الإنشاء بإعدادات أخرى",
    note: "تنطبق هذه الإعدادات على هذه الإجابة فقط. يستخدم حقل أخذ العينات الفارغ إعداد الدردشة، وإذا تُرك موجّه النظام فارغًا فلن يكون للإجابة موجّه نظام.",
    start: "إعادة الإنشاء",
  },
};
