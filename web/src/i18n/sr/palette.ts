import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Serbian texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Претражи ћаскања и команде",
  results: "Резултати",
  actions: "Команде",
  chats: "Ћаскања",
  messages: "Поруке",
  none: "Ништа није пронађено.",
  sidebar: "Прикажи или сакриј листу ћаскања",
  search: "Претражи листу ћаскања",
  preset: (name) => `Скуп подешавања: ${name}`,
};
