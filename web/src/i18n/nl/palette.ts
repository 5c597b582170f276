import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Dutch texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Chats en opdrachten zoeken",
  results: "Resultaten",
  actions: "Opdrachten",
  chats: "Chats",
  messages: "Berichten",
  none: "Niets gevonden.",
  sidebar: "Chatlijst tonen of verbergen",
  search: "Zoeken in de chatlijst",
  preset: (name) => `Voorinstelling: ${name}`,
};
