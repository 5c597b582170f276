import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Slovak texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Hľadať chaty a príkazy",
  results: "Výsledky",
  actions: "Príkazy",
  chats: "Chaty",
  messages: "Správy",
  none: "Nič sa nenašlo.",
  sidebar: "Zobraziť alebo skryť zoznam chatov",
  search: "Hľadať v zozname chatov",
  preset: (name) => `Predvoľba: ${name}`,
};
