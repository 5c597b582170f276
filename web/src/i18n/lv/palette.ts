import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Latvian texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Meklēt tērzēšanas un komandas",
  results: "Rezultāti",
  actions: "Komandas",
  chats: "Tērzēšanas",
  messages: "Ziņas",
  none: "Nekas netika atrasts.",
  sidebar: "Rādīt vai paslēpt tērzēšanu sarakstu",
  search: "Meklēt tērzēšanu sarakstā",
  preset: (name) => `Iestatījumu kopa: ${name}`,
};
