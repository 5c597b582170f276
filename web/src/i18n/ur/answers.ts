import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("ur");

/** Urdu texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "ترمیم شدہ جواب",
    note: "اگلا پیغام آپ کے متن سے آگے چلے گا۔ اصل متن ایک ورژن کے طور پر محفوظ رہتا ہے۔",
  },

  rating: {
    field: "کیا غلط تھا؟",
    note: "اختیاری۔ آپ کی رائے جواب کے ساتھ محفوظ رہتی ہے۔",
  },

  compare: {
    title: "جوابات کا موازنہ",
    note: "تمام جوابات بیک وقت لکھے جاتے ہیں۔ ایک جیسی ترتیبات والے جوابات بھی مختلف ہو سکتے ہیں، جب تک سیڈ سیٹ نہ ہو۔",
    kept: "ہر جواب ایک ورژن کے طور پر چیٹ میں رہتا ہے۔",
    column: (index) => `جواب ${index}`,
    temperature: (value) => `ٹمپریچر ${value}`,
    topP: (value) => `Top p: ${value}`,
    seed: (value) => `سیڈ ${value}`,
    add: "جواب شامل کریں",
    remove: (index) => `جواب ${index} ہٹائیں`,
    start: "موازنہ کریں",
    keep: "یہ رکھیں",
    merge: "ایک جواب میں ضم کریں",
    stop: (index) => `جواب ${index} روکیں`,
    stopAll: "سب روکیں",
  },

  prompts: {
    title: "محفوظ پرامپٹس",
    search: "پرامپٹ تلاش کریں",
    none: "کوئی پرامپٹ نہیں ملا۔",
    empty: "ابھی کوئی محفوظ پرامپٹ نہیں۔ وہ متن محفوظ کریں جس سے آپ اکثر پیغام شروع کرتے ہیں، پھر خالی پیغام میں “/” لکھنے سے وہ یہاں نظر آئے گا۔",
    add: "نیا پرامپٹ",
    edit: (name) => `“${name}” میں ترمیم کریں`,
    name: "پرامپٹ کا نام",
    text: "متن",
    placeholders: "دوہرے بریکٹ والے خالی مقامات، جیسے {{شہر}}، بھرنے کے لیے منتخب ہو جاتے ہیں۔",
    remove: "پرامپٹ حذف کریں",
  },

  files: {
    search: "فائل تلاش کریں",
    none: "کوئی فائل نہیں ملی۔ فائل رکھنے کے لیے، منسلک کرتے وقت اس پر بُک مارک کا نشان دبائیں۔",
    size: (characters) => `${characters} حروف`,
    remove: (name) => `${name} حذف کریں`,
    delete: "حذف کریں",
    confirm: "کیا یہ فائل اپنی فائلوں سے حذف کریں؟ جن چیٹس میں یہ ہے وہ ویسی ہی رہیں گی۔",
  },

  find: {
    title: "اس چیٹ میں تلاش کریں",
    next: "اگلا نتیجہ",
    previous: "پچھلا نتیجہ",
    at: (at, total) => `${total} میں سے ${at}`,
    none: "نہیں ملا",
  },

  queue: {
    title: "قطار میں پیغام",
    waiting: "قطار میں ہے۔ جواب مکمل ہونے پر بھیجا جائے گا۔",
    now: "ابھی بھیجیں",
    nowTitle: "جواب روک کر اس کا متن رکھتا ہے",
    held: "ابھی تک نہیں بھیجا گیا: جواب روک دیا گیا، یا آپ کی غیر موجودگی میں ختم ہوا۔",
    files: (count) => plural(count, { one: "1 فائل", other: `${count} فائلیں` }),
  },

  reading: {
    progress: (done, total) => `چیٹ پڑھی جا رہی ہے: ${total} میں سے ${done} ٹوکنز`,
    left: (time) => `تقریباً ${time} باقی`,
  },

  regenerate: {
    title: "دوسری ترتیبات کے ساتھ دوبارہ بنائیں",
    note: "یہ ترتیبات صرف اسی جواب پر لاگو ہوتی ہیں۔ سیمپلنگ کا خالی خانہ چیٹ کی ترتیب استعمال کرتا ہے؛ سسٹم پرامپٹ خالی ہو تو جواب سسٹم پرامپٹ کے بغیر لکھا جاتا ہے۔",
    start: "دوبارہ بنائیں",
  },
};
