import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Romanian texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Caută chaturi și comenzi",
  results: "Rezultate",
  actions: "Comenzi",
  chats: "Chaturi",
  messages: "Mesaje",
  none: "Nu s-a găsit nimic.",
  sidebar: "Afișează sau ascunde lista de chaturi",
  search: "Caută în lista de chaturi",
  preset: (name) => `Presetare: ${name}`,
};
