import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Croatian texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Pretraži razgovore i naredbe",
  results: "Rezultati",
  actions: "Naredbe",
  chats: "Razgovori",
  messages: "Poruke",
  none: "Ništa nije pronađeno.",
  sidebar: "Prikaži ili sakrij popis razgovora",
  search: "Traži na popisu razgovora",
  preset: (name) => `Skup postavki: ${name}`,
};
