import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

/** Malay texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Jawapan yang diedit",
    note: "Mesej seterusnya bersambung daripada teks anda. Yang asal disimpan sebagai versi.",
  },

  rating: {
    field: "Apa yang salah?",
    note: "Tidak wajib. Maklum balas anda disimpan bersama jawapan.",
  },

  compare: {
    title: "Bandingkan jawapan",
    note: "Semua jawapan ditulis serentak. Jawapan dengan tetapan yang sama masih boleh berbeza, kecuali seed ditetapkan.",
    kept: "Setiap jawapan kekal dalam sembang sebagai versi.",
    column: (index) => `Jawapan ${index}`,
    temperature: (value) => `Suhu ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Seed ${value}`,
    add: "Tambah jawapan",
    remove: (index) => `Alih keluar jawapan ${index}`,
    start: "Bandingkan",
    keep: "Simpan yang ini",
    merge: "Gabungkan menjadi satu jawapan",
    stop: (index) => `Hentikan jawapan ${index}`,
    stopAll: "Hentikan semua",
  },

  prompts: {
    title: "Gesaan disimpan",
    search: "Cari gesaan",
    none: "Tiada gesaan ditemui.",
    empty: "Belum ada gesaan disimpan. Simpan teks yang sering anda gunakan untuk memulakan mesej: “/” dalam mesej kosong akan menyenaraikannya di sini.",
    add: "Gesaan baharu",
    edit: (name) => `Edit “${name}”`,
    name: "Nama gesaan",
    text: "Teks",
    placeholders: "Ruang letak dalam kurungan dakap berganda, seperti {{bandar}}, dipilih untuk anda isi.",
    remove: "Padam gesaan",
  },

  files: {
    search: "Cari fail",
    none: "Tiada fail ditemui. Untuk menyimpan fail, klik penanda pada fail semasa melampirkannya.",
    size: (characters) => `${characters} aksara`,
    remove: (name) => `Padam ${name}`,
    delete: "Padam",
    confirm: "Padam fail ini daripada fail anda? Sembang yang mengandunginya tidak berubah.",
  },

  find: {
    title: "Cari dalam sembang ini",
    next: "Padanan seterusnya",
    previous: "Padanan sebelumnya",
    at: (at, total) => `${at} daripada ${total}`,
    none: "Tidak dijumpai",
  },

  queue: {
    title: "Mesej dalam giliran",
    waiting: "Dalam giliran. Dihantar selepas jawapan selesai.",
    now: "Hantar sekarang",
    nowTitle: "Menghentikan jawapan dan menyimpan teksnya",
    held: "Belum dihantar: jawapan dihentikan, atau selesai semasa anda tiada di sini.",
    files: (count) => `${count} fail`,
  },

  reading: {
    progress: (done, total) => `Membaca sembang: ${done} daripada ${total} token`,
    left: (time) => `kira-kira ${time} lagi`,
  },

  regenerate: {
    title: "Jana semula dengan tetapan lain",
    note: "Tetapan ini hanya untuk jawapan ini. Medan pensampelan yang kosong menggunakan tetapan sembang; jika gesaan sistem kosong, jawapan ditulis tanpa gesaan sistem.",
    start: "Jana semula",
  },
};
