import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Azerbaijani texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
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
