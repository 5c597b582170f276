import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Czech texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Hledat chaty a příkazy",
  results: "Výsledky",
  actions: "Příkazy",
  chats: "Chaty",
  messages: "Zprávy",
  none: "Nic se nenašlo.",
  sidebar: "Zobrazit nebo skrýt seznam chatů",
  search: "Hledat v seznamu chatů",
  preset: (name) => `Předvolba: ${name}`,
};
