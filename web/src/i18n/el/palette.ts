import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Greek texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Αναζήτηση συνομιλιών και εντολών",
  results: "Αποτελέσματα",
  actions: "Εντολές",
  chats: "Συνομιλίες",
  messages: "Μηνύματα",
  none: "Δεν βρέθηκε τίποτα.",
  sidebar: "Εμφάνιση ή απόκρυψη της λίστας συνομιλιών",
  search: "Αναζήτηση στη λίστα συνομιλιών",
  preset: (name) => `Προρύθμιση: ${name}`,
};
