import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

/** Vietnamese texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Câu trả lời đã chỉnh sửa",
    note: "Tin nhắn tiếp theo sẽ nối tiếp nội dung của bạn. Bản gốc được giữ lại dưới dạng một phiên bản.",
  },

  rating: {
    field: "Có gì chưa đúng?",
    note: "Không bắt buộc. Phản hồi của bạn được lưu cùng câu trả lời.",
  },

  compare: {
    title: "So sánh câu trả lời",
    note: "Tất cả câu trả lời được viết cùng lúc. Dù cùng cài đặt, các câu trả lời vẫn có thể khác nhau, trừ khi đặt seed.",
    kept: "Mọi câu trả lời đều được giữ trong đoạn chat dưới dạng phiên bản.",
    column: (index) => `Câu trả lời ${index}`,
    temperature: (value) => `Nhiệt độ ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Seed ${value}`,
    add: "Thêm câu trả lời",
    remove: (index) => `Bỏ câu trả lời ${index}`,
    start: "So sánh",
    keep: "Giữ câu này",
    merge: "Gộp thành một câu trả lời",
    stop: (index) => `Dừng câu trả lời ${index}`,
    stopAll: "Dừng tất cả",
  },

  prompts: {
    title: "Prompt đã lưu",
    search: "Tìm prompt",
    none: "Không tìm thấy prompt nào.",
    empty: "Chưa có prompt nào được lưu. Hãy lưu đoạn văn bản bạn thường dùng để bắt đầu tin nhắn: gõ “/” trong tin nhắn trống để xem danh sách ở đây.",
    add: "Prompt mới",
    edit: (name) => `Chỉnh sửa “${name}”`,
    name: "Tên prompt",
    text: "Nội dung",
    placeholders: "Phần giữ chỗ trong ngoặc nhọn kép, như {{thành phố}}, sẽ được chọn sẵn để bạn điền.",
    remove: "Xóa prompt",
  },

  files: {
    search: "Tìm tệp",
    none: "Không tìm thấy tệp nào. Để giữ lại một tệp, hãy nhấn dấu trang trên tệp đó khi đính kèm.",
    size: (characters) => `${characters} ký tự`,
    remove: (name) => `Xóa ${name}`,
    delete: "Xóa",
    confirm: "Xóa tệp này khỏi tệp của bạn? Các đoạn chat chứa tệp vẫn giữ nguyên.",
  },

  find: {
    title: "Tìm trong cuộc trò chuyện này",
    next: "Kết quả tiếp theo",
    previous: "Kết quả trước đó",
    at: (at, total) => `${at} trên ${total}`,
    none: "Không tìm thấy",
  },

  queue: {
    title: "Tin nhắn đang chờ",
    waiting: "Đang chờ. Sẽ gửi khi câu trả lời hoàn tất.",
    now: "Gửi ngay",
    nowTitle: "Dừng câu trả lời và giữ lại nội dung",
    held: "Chưa gửi: câu trả lời đã bị dừng, hoặc kết thúc khi bạn không ở đây.",
    files: (count) => `${count} tệp`,
  },

  reading: {
    progress: (done, total) => `Đang đọc đoạn chat: ${done} trên ${total} token`,
    left: (time) => `còn khoảng ${time}`,
  },

  regenerate: {
    title: "Tạo lại với cài đặt khác",
    note: "Các cài đặt này chỉ áp dụng cho câu trả lời này. Ô lấy mẫu để trống dùng cài đặt của đoạn chat; nếu để trống prompt hệ thống, câu trả lời sẽ không có prompt hệ thống.",
    start: "Tạo lại",
  },
};
