import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Tamil texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "சாட்களையும் கட்டளைகளையும் தேடு",
  results: "முடிவுகள்",
  actions: "கட்டளைகள்",
  chats: "சாட்கள்",
  messages: "மெசேஜ்கள்",
  none: "எதுவும் கிடைக்கவில்லை.",
  sidebar: "சாட் பட்டியலைக் காட்டு அல்லது மறை",
  search: "சாட் பட்டியலில் தேடு",
  preset: (name) => `முன்னமைவு: ${name}`,
};
