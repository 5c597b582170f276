import type { PaletteTexts } from "../en/palette";

/** Hungarian texts for the palette. */
export const texts: PaletteTexts = {
  field: "Csevegések és parancsok keresése",
  results: "Találatok",
  actions: "Parancsok",
  chats: "Csevegések",
  messages: "Üzenetek",
  none: "Nincs találat.",
  sidebar: "Csevegések listájának megjelenítése vagy elrejtése",
  search: "Keresés a csevegések listájában",
  preset: (name) => `Előbeállítás: ${name}`,
};
