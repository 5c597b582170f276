import type { PaletteTexts } from "../en/palette";

/** Icelandic texts for the palette. */
export const texts: PaletteTexts = {
  field: "Leita í spjöllum og skipunum",
  results: "Niðurstöður",
  actions: "Skipanir",
  chats: "Spjöll",
  messages: "Skilaboð",
  none: "Ekkert fannst.",
  sidebar: "Sýna eða fela spjallalistann",
  search: "Leita í spjallalistanum",
  preset: (name) => `Forstilling: ${name}`,
};
