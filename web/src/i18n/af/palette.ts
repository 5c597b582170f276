import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Afrikaans texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Soek kletse en opdragte",
  results: "Resultate",
  actions: "Opdragte",
  chats: "Kletse",
  messages: "Boodskappe",
  none: "Niks gevind nie.",
  sidebar: "Wys of versteek die lys kletse",
  search: "Soek in die lys kletse",
  preset: (name) => `Voorinstelling: ${name}`,
};
