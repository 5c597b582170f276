import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Belarusian texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Пошук чатаў і каманд",
  results: "Вынікі",
  actions: "Каманды",
  chats: "Чаты",
  messages: "Паведамленні",
  none: "Нічога не знойдзена.",
  sidebar: "Паказаць або схаваць спіс чатаў",
  search: "Пошук у спісе чатаў",
  preset: (name) => `Набор налад: ${name}`,
};
