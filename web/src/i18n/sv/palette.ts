import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Swedish texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Sök chattar och kommandon",
  results: "Resultat",
  actions: "Kommandon",
  chats: "Chattar",
  messages: "Meddelanden",
  none: "Inget hittades.",
  sidebar: "Visa eller dölj chattlistan",
  search: "Sök i chattlistan",
  preset: (name) => `Förinställning: ${name}`,
};
