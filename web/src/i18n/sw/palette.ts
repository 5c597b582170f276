import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Swahili texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Tafuta magumzo na amri",
  results: "Matokeo",
  actions: "Amri",
  chats: "Magumzo",
  messages: "Ujumbe",
  none: "Hakuna kilichopatikana.",
  sidebar: "Onyesha au ufiche orodha ya magumzo",
  search: "Tafuta katika orodha ya magumzo",
  preset: (name) => `Seti ya mipangilio: ${name}`,
};
