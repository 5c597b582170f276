import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Estonian texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Otsi vestlusi ja käske",
  results: "Tulemused",
  actions: "Käsud",
  chats: "Vestlused",
  messages: "Sõnumid",
  none: "Midagi ei leitud.",
  sidebar: "Näita või peida vestluste loend",
  search: "Otsi vestluste loendist",
  preset: (name) => `Eelseadistus: ${name}`,
};
