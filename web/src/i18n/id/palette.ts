import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Indonesian texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Cari obrolan dan perintah",
  results: "Hasil",
  actions: "Perintah",
  chats: "Obrolan",
  messages: "Pesan",
  none: "Tidak ada yang ditemukan.",
  sidebar: "Tampilkan atau sembunyikan daftar obrolan",
  search: "Cari di daftar obrolan",
  preset: (name) => `Preset: ${name}`,
};
