import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Finnish texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Hae keskusteluja ja komentoja",
  results: "Tulokset",
  actions: "Komennot",
  chats: "Keskustelut",
  messages: "Viestit",
  none: "Mitään ei löytynyt.",
  sidebar: "Näytä tai piilota keskusteluluettelo",
  search: "Hae keskusteluluettelosta",
  preset: (name) => `Esiasetus: ${name}`,
};
