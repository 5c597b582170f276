import type { PaletteTexts } from "../en/palette";

/** German texts for the palette. */
export const texts: PaletteTexts = {
  field: "Chats und Befehle suchen",
  results: "Ergebnisse",
  actions: "Befehle",
  chats: "Chats",
  messages: "Nachrichten",
  none: "Nichts gefunden.",
  sidebar: "Chatliste ein- oder ausblenden",
  search: "In der Chatliste suchen",
  preset: (name) => `Vorlage: ${name}`,
};
