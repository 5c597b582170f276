import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Persian texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "جستجوی گفتگوها و فرمان‌ها",
  results: "نتایج",
  actions: "فرمان‌ها",
  chats: "گفتگوها",
  messages: "پیام‌ها",
  none: "چیزی یافت نشد.",
  sidebar: "نمایش یا پنهان کردن فهرست گفتگوها",
  search: "جستجو در فهرست گفتگوها",
  preset: (name) => `پیش‌تنظیم: ${name}`,
};
