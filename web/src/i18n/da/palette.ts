import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Danish texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Søg i chats og kommandoer",
  results: "Resultater",
  actions: "Kommandoer",
  chats: "Chats",
  messages: "Beskeder",
  none: "Intet fundet.",
  sidebar: "Vis eller skjul chatlisten",
  search: "Søg på chatlisten",
  preset: (name) => `Forudindstilling: ${name}`,
};
