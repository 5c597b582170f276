import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Malay texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Cari sembang dan perintah",
  results: "Hasil",
  actions: "Perintah",
  chats: "Sembang",
  messages: "Mesej",
  none: "Tiada hasil ditemui.",
  sidebar: "Tunjukkan atau sembunyikan senarai sembang",
  search: "Cari dalam senarai sembang",
  preset: (name) => `Pratetap: ${name}`,
};
