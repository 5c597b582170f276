import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Thai texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "ค้นหาแชทและคำสั่ง",
  results: "ผลการค้นหา",
  actions: "คำสั่ง",
  chats: "แชท",
  messages: "ข้อความ",
  none: "ไม่พบผลลัพธ์",
  sidebar: "แสดงหรือซ่อนรายการแชท",
  search: "ค้นหาในรายการแชท",
  preset: (name) => `พรีเซ็ต: ${name}`,
};
