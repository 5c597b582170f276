import type { PaletteTexts } from "../en/palette";

/** Korean texts for the palette. */
export const texts: PaletteTexts = {
  field: "채팅 및 명령 검색",
  results: "결과",
  actions: "명령",
  chats: "채팅",
  messages: "메시지",
  none: "검색 결과가 없습니다.",
  sidebar: "채팅 목록 표시 또는 숨기기",
  search: "채팅 목록에서 검색",
  preset: (name) => `프리셋: ${name}`,
};
