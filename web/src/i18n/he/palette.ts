import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Hebrew texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "חיפוש צ׳אטים ופקודות",
  results: "תוצאות",
  actions: "פקודות",
  chats: "צ׳אטים",
  messages: "הודעות",
  none: "לא נמצא דבר.",
  sidebar: "הצגה או הסתרה של רשימת הצ׳אטים",
  search: "חיפוש ברשימת הצ׳אטים",
  preset: (name) => `ערכת הגדרות: ${name}`,
};
