import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Marathi texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "चॅट आणि कमांड शोधा",
  results: "परिणाम",
  actions: "कमांड",
  chats: "चॅट",
  messages: "मेसेज",
  none: "काहीही सापडले नाही.",
  sidebar: "चॅटची सूची दाखवा किंवा लपवा",
  search: "चॅटच्या सूचीत शोधा",
  preset: (name) => `प्रीसेट: ${name}`,
};
