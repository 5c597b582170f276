import type { PaletteTexts } from "./en";

/** Japanese texts for the palette. */
export const ja: PaletteTexts = {
  field: "チャットとコマンドを検索",
  results: "結果",
  actions: "コマンド",
  chats: "チャット",
  messages: "メッセージ",
  none: "見つかりませんでした。",
  sidebar: "チャット一覧の表示／非表示",
  search: "チャット一覧を検索",
};
