import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Catalan texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Cerca xats i ordres",
  results: "Resultats",
  actions: "Ordres",
  chats: "Xats",
  messages: "Missatges",
  none: "No s’ha trobat res.",
  sidebar: "Mostra o amaga la llista de xats",
  search: "Cerca a la llista de xats",
  preset: (name) => `Preajust: ${name}`,
};
