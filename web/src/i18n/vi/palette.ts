import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Vietnamese texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Tìm kiếm đoạn chat và lệnh",
  results: "Kết quả",
  actions: "Lệnh",
  chats: "Đoạn chat",
  messages: "Tin nhắn",
  none: "Không tìm thấy kết quả nào.",
  sidebar: "Hiện hoặc ẩn danh sách đoạn chat",
  search: "Tìm trong danh sách đoạn chat",
  preset: (name) => `Cấu hình mẫu: ${name}`,
};
