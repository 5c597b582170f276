import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Filipino texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Maghanap ng mga chat at command",
  results: "Mga resulta",
  actions: "Mga command",
  chats: "Mga chat",
  messages: "Mga mensahe",
  none: "Walang nahanap.",
  sidebar: "Ipakita o itago ang listahan ng mga chat",
  search: "Maghanap sa listahan ng mga chat",
  preset: (name) => `Preset: ${name}`,
};
