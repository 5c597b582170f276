import type { PaletteTexts } from "../en/palette";

/** Arabic texts for the palette. */
export const texts: PaletteTexts = {
  field: "البحث في الدردشات والأوامر",
  results: "النتائج",
  actions: "الأوامر",
  chats: "الدردشات",
  messages: "الرسائل",
  none: "لم يُعثر على شيء.",
  sidebar: "إظهار قائمة الدردشات أو إخفاؤها",
  search: "البحث في قائمة الدردشات",
  preset: (name) => `الإعداد المسبق: ${name}`,
};
