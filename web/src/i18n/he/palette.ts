import type { PaletteTexts } from "../en/palette";

/** Hebrew texts for the palette. */
export const texts: PaletteTexts = {
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
