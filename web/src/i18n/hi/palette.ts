import type { PaletteTexts } from "../en/palette";

/** Hindi texts for the palette. */
export const texts: PaletteTexts = {
  field: "चैट और कमांड खोजें",
  results: "नतीजे",
  actions: "कमांड",
  chats: "चैट",
  messages: "मैसेज",
  none: "कुछ नहीं मिला।",
  sidebar: "चैट की सूची दिखाएँ या छिपाएँ",
  search: "चैट की सूची में खोजें",
  preset: (name) => `प्रीसेट: ${name}`,
};
