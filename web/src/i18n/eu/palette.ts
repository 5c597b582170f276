import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Basque texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Bilatu txatak eta komandoak",
  results: "Emaitzak",
  actions: "Komandoak",
  chats: "Txatak",
  messages: "Mezuak",
  none: "Ez da ezer aurkitu.",
  sidebar: "Erakutsi edo ezkutatu txaten zerrenda",
  search: "Bilatu txaten zerrendan",
  preset: (name) => `Aurrezarpena: ${name}`,
};
