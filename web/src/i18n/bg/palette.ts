import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Bulgarian texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Търсене на чатове и команди",
  results: "Резултати",
  actions: "Команди",
  chats: "Чатове",
  messages: "Съобщения",
  none: "Няма резултати.",
  sidebar: "Показване или скриване на списъка с чатове",
  search: "Търсене в списъка с чатове",
  preset: (name) => `Комплект настройки: ${name}`,
};
