import type { PaletteTexts } from "../en/palette";

/** Swahili texts for the palette. */
export const texts: PaletteTexts = {
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
