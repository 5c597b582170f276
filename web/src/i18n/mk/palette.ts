import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Macedonian texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Пребарај разговори и команди",
  results: "Резултати",
  actions: "Команди",
  chats: "Разговори",
  messages: "Пораки",
  none: "Ништо не е пронајдено.",
  sidebar: "Прикажи или скриј го списокот со разговори",
  search: "Пребарај во списокот со разговори",
  preset: (name) => `Комплет поставки: ${name}`,
};
