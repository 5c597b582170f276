import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Polish texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Szukaj czatów i poleceń",
  results: "Wyniki",
  actions: "Polecenia",
  chats: "Czaty",
  messages: "Wiadomości",
  none: "Nic nie znaleziono.",
  sidebar: "Pokaż lub ukryj listę czatów",
  search: "Szukaj na liście czatów",
  preset: (name) => `Zestaw ustawień: ${name}`,
};
