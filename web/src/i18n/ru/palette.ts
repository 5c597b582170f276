import type { PaletteTexts } from "../en/palette";

/** Russian texts for the palette. */
export const texts: PaletteTexts = {
  field: "Поиск чатов и команд",
  results: "Результаты",
  actions: "Команды",
  chats: "Чаты",
  messages: "Сообщения",
  none: "Ничего не найдено.",
  sidebar: "Показать или скрыть список чатов",
  search: "Поиск в списке чатов",
  preset: (name) => `Набор настроек: ${name}`,
};
