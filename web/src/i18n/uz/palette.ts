import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Uzbek texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Chat va buyruqlarni qidirish",
  results: "Natijalar",
  actions: "Buyruqlar",
  chats: "Chatlar",
  messages: "Xabarlar",
  none: "Hech narsa topilmadi.",
  sidebar: "Chatlar roʻyxatini koʻrsatish yoki yashirish",
  search: "Chatlar roʻyxatidan qidirish",
  preset: (name) => `Andoza: ${name}`,
};
