import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Icelandic texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
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
