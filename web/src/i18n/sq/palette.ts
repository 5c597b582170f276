import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Albanian texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Kërko biseda dhe komanda",
  results: "Rezultatet",
  actions: "Komandat",
  chats: "Bisedat",
  messages: "Mesazhet",
  none: "Nuk u gjet asgjë.",
  sidebar: "Shfaq ose fshih listën e bisedave",
  search: "Kërko në listën e bisedave",
  preset: (name) => `Paravendosja: ${name}`,
};
