import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

/** Uzbek texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Tahrirlangan javob",
    note: "Keyingi xabar sizning matningizdan davom etadi. Asl javob versiya sifatida saqlanadi.",
  },

  rating: {
    field: "Nima notoʻgʻri boʻldi?",
    note: "Ixtiyoriy. Fikringiz javob bilan birga saqlanadi.",
  },

  compare: {
    title: "Javoblarni solishtirish",
    note: "Barcha javoblar bir vaqtda yoziladi. Sid belgilanmagan boʻlsa, sozlamalari bir xil javoblar ham farq qilishi mumkin.",
    kept: "Har bir javob chatda versiya sifatida qoladi.",
    column: (index) => `${index}-javob`,
    temperature: (value) => `Harorat ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Sid ${value}`,
    add: "Javob qoʻshish",
    remove: (index) => `${index}-javobni olib tashlash`,
    start: "Solishtirish",
    keep: "Shuni qoldirish",
    merge: "Bitta javobga birlashtirish",
    stop: (index) => `${index}-javobni toʻxtatish`,
    stopAll: "Hammasini toʻxtatish",
  },

  prompts: {
    title: "Saqlangan promptlar",
    search: "Prompt qidirish",
    none: "Prompt topilmadi.",
    empty: "Hozircha saqlangan prompt yoʻq. Xabarlarni tez-tez boshlaydigan matningizni saqlang: boʻsh xabarga “/” yozsangiz, u shu yerda chiqadi.",
    add: "Yangi prompt",
    edit: (name) => `“${name}” promptini tahrirlash`,
    name: "Prompt nomi",
    text: "Matn",
    placeholders: "{{shahar}} kabi qoʻsh qavsdagi oʻrinlar toʻldirishingiz uchun belgilanadi.",
    remove: "Promptni oʻchirish",
  },

  files: {
    search: "Fayl qidirish",
    none: "Fayl topilmadi. Faylni saqlab qoʻyish uchun biriktirayotganda undagi xatchoʻpni bosing.",
    size: (characters) => `${characters} ta belgi`,
    remove: (name) => `${name} faylini oʻchirish`,
    delete: "Oʻchirish",
    confirm: "Bu fayl fayllaringizdan oʻchirilsinmi? U bor chatlar oʻzgarishsiz qoladi.",
  },

  find: {
    title: "Shu suhbatdan topish",
    next: "Keyingi moslik",
    previous: "Oldingi moslik",
    at: (at, total) => `${at} / ${total}`,
    none: "Topilmadi",
  },

  queue: {
    title: "Navbatdagi xabar",
    waiting: "Navbatda. Javob tugagach yuboriladi.",
    now: "Hozir yuborish",
    nowTitle: "Javobni toʻxtatadi va matnini saqlaydi",
    held: "Hali yuborilmadi: javob toʻxtatildi yoki siz yoʻqligingizda tugadi.",
    files: (count) => `${count} ta fayl`,
  },

  reading: {
    progress: (done, total) => `Chat oʻqilmoqda: ${total} tokendan ${done} tasi`,
    left: (time) => `taxminan ${time} qoldi`,
  },

  regenerate: {
    title: "Boshqa sozlamalar bilan qayta yaratish",
    note: "Bu sozlamalar faqat shu javobga tegishli. Boʻsh tanlash maydonida chat sozlamasi ishlatiladi; tizim prompti boʻsh qoldirilsa, javob usiz yoziladi.",
    start: "Qayta yaratish",
  },
};
