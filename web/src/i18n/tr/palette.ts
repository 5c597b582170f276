import type { PaletteTexts } from "../en/palette";

/** Turkish texts for the palette. */
export const texts: PaletteTexts = {
  field: "Sohbet ve komut ara",
  results: "Sonuçlar",
  actions: "Komutlar",
  chats: "Sohbetler",
  messages: "Mesajlar",
  none: "Hiçbir şey bulunamadı.",
  sidebar: "Sohbet listesini göster veya gizle",
  search: "Sohbet listesinde ara",
  preset: (name) => `Ön ayar: ${name}`,
};
