import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

/** Malay texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Mesej terlalu panjang",
    text: (used, window) => `Dengan mesej ini, sembang akan mempunyai ${used} token. Model membaca kurang daripada ${window}.`,
    farTooLong: (window) => `Dengan mesej ini, sembang jauh lebih panjang daripada ${window} token yang dibaca model.`,
    shorten: "Pendekkannya, atau:",
    shortenAlone: "Pendekkannya.",
    remove: (name) => `Alih keluar ${name}`,
    leave: (messages) => `Hantar tanpa ${messages} mesej pertama`,
    summarize: (messages) => `Ringkaskan ${messages} mesej pertama`,
    summarizing: "Model sedang menulis ringkasan. Mesej dihantar selepas itu.",
    leaveTitle: "Mesej itu kekal dalam sembang, tetapi model tidak lagi melihatnya.",
    move: "Tanya dalam sembang baharu",
  },

  allSeen: "Dari sini, model melihat semua mesej semula.",
  leftOut: (messages) => `Dari sini, model tidak lagi melihat ${messages} mesej pertama.`,

  summary: "Ringkasan",
  summarized: (messages) => `Dari sini, model melihat ringkasan ${messages} mesej pertama.`,

  overflow: {
    server: "Mesej ini terlalu besar untuk pelayan, jadi mesej kekal dalam penyemak imbas ini sahaja. Pendekkannya, atau alih keluar salah satu fail.",
    browser: "Mesej ini terlalu besar untuk disimpan sehingga anda menghantarnya. Mesej akan hilang apabila anda menutup atau memuat semula halaman.",
  },

  notRead: (name) => `${name} tidak dibaca.`,

  unreadable: {
    tooBig: (name) => `${name} mempunyai lebih daripada 512 KiB teks. Lampirkan bahagian yang penting.`,
    tooBigPdf: (name) => `${name} lebih besar daripada 32 MiB. Lampirkan bahagian yang penting.`,
    noText: (name) => `${name} bukan fail teks, PDF, docx, xlsx, pptx atau epub. Model hanya membaca teks: jika ini dokumen, simpan dalam salah satu format ini.`,
    old: (name) => `${name} dalam format Office lama. Simpan sebagai docx, xlsx atau pptx dan lampirkannya.`,
    empty: (name) => `${name} tidak mengandungi teks. Gambar teks perlu melalui pengecaman teks dahulu.`,
    tooCostly: (name) => `${name} memerlukan terlalu banyak memori atau masa untuk dibaca. Lampirkan bahagian yang penting.`,
    scanned: (name) => `${name} tidak mengandungi teks, hanya halaman yang diimbas. Jalankan pengecaman teks dahulu.`,
    encrypted: (name) => `${name} dikunci dengan kata laluan. Simpan salinan tanpa kata laluan dan lampirkannya.`,
    broken: (name) => `${name} rosak dan tidak dapat dibaca. Simpan atau muat turun semula.`,
    gone: (name) => `${name} tidak dapat dibuka. Jika ini folder, pilih fail di dalamnya; jika bukan, pilih semula.`,
  },
};
