import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Ukrainian texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Пошук чатів і команд",
  results: "Результати",
  actions: "Команди",
  chats: "Чати",
  messages: "Повідомлення",
  none: "Нічого не знайдено.",
  sidebar: "Показати або приховати список чатів",
  search: "Пошук у списку чатів",
  preset: (name) => `Набір налаштувань: ${name}`,
};
