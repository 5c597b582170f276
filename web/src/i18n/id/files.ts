import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

/** Indonesian texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Pesan terlalu panjang",
    text: (used, window) => `Dengan pesan ini, obrolan akan berisi ${used} token. Model hanya membaca kurang dari ${window}.`,
    farTooLong: (window) => `Dengan pesan ini, obrolan jauh lebih panjang dari ${window} token yang bisa dibaca model.`,
    shorten: "Persingkat, atau:",
    shortenAlone: "Persingkat.",
    remove: (name) => `Hapus ${name}`,
    leave: (messages) => `Kirim tanpa ${messages} pesan pertama`,
    summarize: (messages) => `Ringkas ${messages} pesan pertama`,
    summarizing: "Model sedang menulis ringkasan. Pesan dikirim setelahnya.",
    leaveTitle: "Pesan itu tetap ada di obrolan, tetapi tidak lagi dilihat model.",
    move: "Tanyakan di obrolan baru",
  },

  allSeen: "Mulai dari sini, model melihat semua pesan lagi.",
  leftOut: (messages) => `Mulai dari sini, model tidak lagi melihat ${messages} pesan pertama.`,

  summary: "Ringkasan",
  summarized: (messages) => `Mulai dari sini, model melihat ringkasan dari ${messages} pesan pertama.`,

  overflow: {
    server: "Pesan ini terlalu besar untuk server, jadi hanya tersimpan di browser ini. Persingkat, atau keluarkan salah satu file.",
    browser: "Pesan ini terlalu besar untuk disimpan sampai dikirim. Pesan akan hilang saat Anda menutup atau memuat ulang halaman.",
  },

  notRead: (name) => `${name} tidak dibaca.`,

  unreadable: {
    tooBig: (name) => `${name} berisi lebih dari 512 KiB teks. Lampirkan bagian yang penting saja.`,
    tooBigPdf: (name) => `${name} lebih besar dari 32 MiB. Lampirkan bagian yang penting saja.`,
    noText: (name) => `${name} bukan file teks, PDF, docx, xlsx, pptx, atau epub. Model hanya membaca teks: jika ini dokumen, simpan dalam salah satu format ini.`,
    old: (name) => `${name} memakai format Office lama. Simpan sebagai docx, xlsx, atau pptx, lalu lampirkan.`,
    empty: (name) => `${name} tidak berisi teks. Gambar teks perlu melalui pengenalan teks terlebih dahulu.`,
    tooCostly: (name) => `${name} perlu terlalu banyak memori atau waktu untuk dibaca. Lampirkan bagian yang penting saja.`,
    scanned: (name) => `${name} tidak berisi teks, hanya halaman hasil pindai. Jalankan pengenalan teks terlebih dahulu.`,
    encrypted: (name) => `${name} dikunci dengan kata sandi. Simpan salinan tanpa kata sandi, lalu lampirkan.`,
    broken: (name) => `${name} rusak dan tidak bisa dibaca. Simpan atau unduh lagi.`,
    gone: (name) => `${name} tidak bisa dibuka. Jika itu folder, pilih file di dalamnya; jika bukan, pilih lagi.`,
  },
};
