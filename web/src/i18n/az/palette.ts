import type { PaletteTexts } from "../en/palette";

/** Azerbaijani texts for the palette. */
export const texts: PaletteTexts = {
  field: "Söhbət və əmr axtar",
  results: "Nəticələr",
  actions: "Əmrlər",
  chats: "Söhbətlər",
  messages: "Mesajlar",
  none: "Heç nə tapılmadı.",
  sidebar: "Söhbət siyahısını göstər və ya gizlət",
  search: "Söhbət siyahısında axtar",
  preset: (name) => `Hazır ayar: ${name}`,
};
