import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Turkish texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
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
