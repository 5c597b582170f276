import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Galician texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Buscar chats e ordes",
  results: "Resultados",
  actions: "Ordes",
  chats: "Chats",
  messages: "Mensaxes",
  none: "Non se atopou nada.",
  sidebar: "Mostrar ou ocultar a lista de chats",
  search: "Buscar na lista de chats",
  preset: (name) => `Preaxuste: ${name}`,
};
