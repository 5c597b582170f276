import type { PaletteTexts } from "../en/palette";

/** Japanese texts for the palette. */
export const texts: PaletteTexts = {
  field: "チャットとコマンドを検索",
  results: "結果",
  actions: "コマンド",
  chats: "チャット",
  messages: "メッセージ",
  none: "見つかりませんでした。",
  sidebar: "チャット一覧の表示／非表示",
  search: "チャット一覧を検索",
  preset: (name) => `プリセット：${name}`,
};
