import type { PaletteTexts } from "../en/palette";

/** Texts of the palette in Chinese. */
export const texts: PaletteTexts = {
  field: "搜索对话和命令",
  results: "结果",
  actions: "命令",
  chats: "对话",
  messages: "消息",
  none: "没有找到相关内容。",
  sidebar: "显示或隐藏对话列表",
  search: "在对话列表中搜索",
  preset: (name) => `预设：${name}`,
};
