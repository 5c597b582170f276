import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

/** Uzbek texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Xabar juda uzun",
    text: (used, window) => `Bu xabar bilan chat ${used} tokenga yetadi. Model ${window} tokendan kamini oʻqiydi.`,
    farTooLong: (window) => `Bu xabar bilan chat model oʻqiydigan ${window} tokendan ancha uzun boʻladi.`,
    shorten: "Uni qisqartiring yoki:",
    shortenAlone: "Uni qisqartiring.",
    remove: (name) => `${name} faylini olib tashlash`,
    leave: (messages) => (messages === 1 ? "Birinchi xabarsiz yuborish" : `Dastlabki ${messages} ta xabarsiz yuborish`),
    summarize: (messages) => (messages === 1 ? "Birinchi xabarni qisqacha bayon qilish" : `Dastlabki ${messages} ta xabarni qisqacha bayon qilish`),
    summarizing: "Model qisqacha bayon yozmoqda. Xabar shundan keyin yuboriladi.",
    leaveTitle: "Ular chatda qoladi, lekin model ularni endi koʻrmaydi.",
    move: "Yangi chatda soʻrash",
  },

  allSeen: "Shu yerdan boshlab model barcha xabarlarni yana koʻradi.",
  leftOut: (messages) => `Shu yerdan boshlab model ${messages === 1 ? "birinchi xabarni" : `dastlabki ${messages} ta xabarni`} koʻrmaydi.`,

  summary: "Qisqacha bayon",
  summarized: (messages) => `Shu yerdan boshlab model ${messages === 1 ? "birinchi xabarning" : `dastlabki ${messages} ta xabarning`} qisqacha bayonini koʻradi.`,

  overflow: {
    server: "Bu xabar server uchun juda katta, shuning uchun u faqat shu brauzerda qoladi. Uni qisqartiring yoki bitta faylni olib tashlang.",
    browser: "Bu xabar yuborilguncha saqlab turish uchun juda katta. Sahifani yopsangiz yoki yangilasangiz, u yoʻqoladi.",
  },

  notRead: (name) => `${name} oʻqilmadi.`,

  unreadable: {
    tooBig: (name) => `${name} ichidagi matn 512 KiB dan koʻp. Muhim qismini biriktiring.`,
    tooBigPdf: (name) => `${name} hajmi 32 MiB dan katta. Muhim qismini biriktiring.`,
    noText: (name) => `${name} matn fayli, PDF, docx, xlsx, pptx yoki epub emas. Model faqat matnni oʻqiydi: hujjatni shu formatlardan birida saqlang.`,
    old: (name) => `${name} eski Office formatida. Uni docx, xlsx yoki pptx sifatida saqlab, oʻshani biriktiring.`,
    empty: (name) => `${name} ichida matn yoʻq. Matnli rasmlar uchun avval matnni tanib olish kerak.`,
    tooCostly: (name) => `${name} faylini oʻqish juda koʻp xotira yoki vaqt oladi. Muhim qismini biriktiring.`,
    scanned: (name) => `${name} ichida matn yoʻq, faqat skanerlangan sahifalar bor. Avval unda matnni tanib olishni bajaring.`,
    encrypted: (name) => `${name} parol bilan himoyalangan. Parolsiz nusxasini saqlab, oʻshani biriktiring.`,
    broken: (name) => `${name} buzilgan, uni oʻqib boʻlmaydi. Qayta saqlang yoki yuklab oling.`,
    gone: (name) => `${name} ochilmadi. Agar bu jild boʻlsa, ichidagi fayllarni tanlang; aks holda uni qayta tanlang.`,
  },
};
