import type { PaletteTexts } from "./en";

/** German texts for the palette. */
export const de: PaletteTexts = {
  field: "Chats und Befehle suchen",
  results: "Ergebnisse",
  actions: "Befehle",
  chats: "Chats",
  messages: "Nachrichten",
  none: "Nichts gefunden.",
  sidebar: "Chatliste ein- oder ausblenden",
  search: "In der Chatliste suchen",
};
