import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Norwegian Bokmål texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Søk i chatter og kommandoer",
  results: "Resultater",
  actions: "Kommandoer",
  chats: "Chatter",
  messages: "Meldinger",
  none: "Fant ingenting.",
  sidebar: "Vis eller skjul chatlisten",
  search: "Søk i chatlisten",
  preset: (name) => `Forvalg: ${name}`,
};
