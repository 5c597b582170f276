import type { PaletteTexts } from "../en/palette";

/** Traditional Chinese texts for the palette. */
export const texts: PaletteTexts = {
  field: "搜尋對話和指令",
  results: "結果",
  actions: "指令",
  chats: "對話",
  messages: "訊息",
  none: "找不到相關內容。",
  sidebar: "顯示或隱藏對話列表",
  search: "在對話列表中搜尋",
  preset: (name) => `預設集：${name}`,
};
