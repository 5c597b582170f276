import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Urdu texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "چیٹس اور کمانڈز تلاش کریں",
  results: "نتائج",
  actions: "کمانڈز",
  chats: "چیٹس",
  messages: "پیغامات",
  none: "کچھ نہیں ملا۔",
  sidebar: "چیٹس کی فہرست دکھائیں یا چھپائیں",
  search: "چیٹس کی فہرست میں تلاش کریں",
  preset: (name) => `پری سیٹ: ${name}`,
};
