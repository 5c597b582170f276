import type { PaletteTexts } from "../en/palette";

/** French texts for the palette. */
export const texts: PaletteTexts = {
  field: "Rechercher des conversations et des commandes",
  results: "Résultats",
  actions: "Commandes",
  chats: "Conversations",
  messages: "Messages",
  none: "Aucun résultat.",
  sidebar: "Afficher ou masquer la liste des conversations",
  search: "Rechercher dans la liste des conversations",
  preset: (name) => `Préréglage : ${name}`,
};
