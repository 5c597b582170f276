import type { PaletteTexts } from "../en/palette";

/** Ukrainian texts for the palette. */
export const texts: PaletteTexts = {
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
