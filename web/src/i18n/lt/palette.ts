import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Lithuanian texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Ieškoti pokalbių ir komandų",
  results: "Rezultatai",
  actions: "Komandos",
  chats: "Pokalbiai",
  messages: "Žinutės",
  none: "Nieko nerasta.",
  sidebar: "Rodyti arba slėpti pokalbių sąrašą",
  search: "Ieškoti pokalbių sąraše",
  preset: (name) => `Nustatymų rinkinys: ${name}`,
};
