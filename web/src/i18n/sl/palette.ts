import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Slovenian texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Išči klepete in ukaze",
  results: "Rezultati",
  actions: "Ukazi",
  chats: "Klepeti",
  messages: "Sporočila",
  none: "Ni zadetkov.",
  sidebar: "Pokaži ali skrij seznam klepetov",
  search: "Išči po seznamu klepetov",
  preset: (name) => `Prednastavitev: ${name}`,
};
