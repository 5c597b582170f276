import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

/** Indonesian texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Jawaban yang diedit",
    note: "Pesan berikutnya melanjutkan dari teks Anda. Aslinya tetap disimpan sebagai versi.",
  },

  rating: {
    field: "Apa yang salah?",
    note: "Opsional. Masukan Anda disimpan bersama jawaban.",
  },

  compare: {
    title: "Bandingkan jawaban",
    note: "Semua jawaban ditulis bersamaan. Jawaban dengan pengaturan yang sama tetap bisa berbeda, kecuali seed diatur.",
    kept: "Setiap jawaban tetap ada di obrolan sebagai versi.",
    column: (index) => `Jawaban ${index}`,
    temperature: (value) => `Temperatur ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Seed ${value}`,
    add: "Tambah jawaban",
    remove: (index) => `Hapus jawaban ${index}`,
    start: "Bandingkan",
    keep: "Simpan yang ini",
    merge: "Gabungkan menjadi satu jawaban",
    stop: (index) => `Hentikan jawaban ${index}`,
    stopAll: "Hentikan semua",
  },

  prompts: {
    title: "Prompt tersimpan",
    search: "Cari prompt",
    none: "Tidak ada prompt yang ditemukan.",
    empty: "Belum ada prompt tersimpan. Simpan teks yang sering Anda pakai untuk memulai pesan: ketik “/” di pesan kosong, dan teks itu muncul di sini.",
    add: "Prompt baru",
    edit: (name) => `Edit “${name}”`,
    name: "Nama prompt",
    text: "Teks",
    placeholders: "Placeholder dalam kurung kurawal ganda, seperti {{kota}}, akan dipilih agar bisa Anda isi.",
    remove: "Hapus prompt",
  },

  files: {
    search: "Cari file",
    none: "Tidak ada file yang ditemukan. Untuk menyimpan file, klik ikon penanda pada file saat melampirkannya.",
    size: (characters) => `${characters} karakter`,
    remove: (name) => `Hapus ${name}`,
    delete: "Hapus",
    confirm: "Hapus file ini dari file Anda? Obrolan yang berisi file ini tidak berubah.",
  },

  find: {
    title: "Cari di obrolan ini",
    next: "Hasil berikutnya",
    previous: "Hasil sebelumnya",
    at: (at, total) => `${at} dari ${total}`,
    none: "Tidak ditemukan",
  },

  queue: {
    title: "Pesan dalam antrean",
    waiting: "Dalam antrean. Dikirim setelah jawaban selesai.",
    now: "Kirim sekarang",
    nowTitle: "Menghentikan jawaban dan menyimpan teksnya",
    held: "Belum dikirim: jawaban dihentikan, atau selesai saat Anda tidak di sini.",
    files: (count) => `${count} file`,
  },

  reading: {
    progress: (done, total) => `Membaca obrolan: ${done} dari ${total} token`,
    left: (time) => `sekitar ${time} lagi`,
  },

  regenerate: {
    title: "Buat ulang dengan pengaturan lain",
    note: "Pengaturan ini hanya berlaku untuk jawaban ini. Kolom sampling yang kosong memakai pengaturan obrolan; jika prompt sistem kosong, jawaban ditulis tanpa prompt sistem.",
    start: "Buat ulang",
  },
};
