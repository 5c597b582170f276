import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** European Portuguese texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Pesquisar conversas e comandos",
  results: "Resultados",
  actions: "Comandos",
  chats: "Conversas",
  messages: "Mensagens",
  none: "Nada encontrado.",
  sidebar: "Mostrar ou ocultar a lista de conversas",
  search: "Pesquisar na lista de conversas",
  preset: (name) => `Predefinição: ${name}`,
};
