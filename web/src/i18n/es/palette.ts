import type { PaletteTexts } from "../en/palette";

/** Spanish texts for the palette. */
export const texts: PaletteTexts = {
  field: "Buscar chats y comandos",
  results: "Resultados",
  actions: "Comandos",
  chats: "Chats",
  messages: "Mensajes",
  none: "No se ha encontrado nada.",
  sidebar: "Mostrar u ocultar la lista de chats",
  search: "Buscar en la lista de chats",
  preset: (name) => `Preajuste: ${name}`,
};
