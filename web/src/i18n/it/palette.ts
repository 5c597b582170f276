import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Italian texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Cerca chat e comandi",
  results: "Risultati",
  actions: "Comandi",
  chats: "Chat",
  messages: "Messaggi",
  none: "Nessun risultato.",
  sidebar: "Mostra o nascondi l’elenco delle chat",
  search: "Cerca nell’elenco delle chat",
  preset: (name) => `Preset: ${name}`,
};
