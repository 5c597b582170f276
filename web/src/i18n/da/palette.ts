import type { PaletteTexts } from "../en/palette";

/** Danish texts for the palette. */
export const texts: PaletteTexts = {
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
