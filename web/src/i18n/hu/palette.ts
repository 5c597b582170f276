import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Hungarian texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
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
