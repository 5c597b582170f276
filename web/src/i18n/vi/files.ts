import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

/** Vietnamese texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Tin nhắn quá dài",
    text: (used, window) => `Nếu thêm tin nhắn này, đoạn chat sẽ có ${used} token. Mô hình chỉ đọc dưới ${window} token.`,
    farTooLong: (window) => `Nếu thêm tin nhắn này, đoạn chat dài hơn rất nhiều so với ${window} token mà mô hình đọc được.`,
    shorten: "Hãy rút ngắn, hoặc:",
    shortenAlone: "Hãy rút ngắn tin nhắn.",
    remove: (name) => `Gỡ ${name}`,
    leave: (messages) => (messages === 1 ? "Gửi mà không kèm tin nhắn đầu tiên" : `Gửi mà không kèm ${messages} tin nhắn đầu tiên`),
    summarize: (messages) => (messages === 1 ? "Tóm tắt tin nhắn đầu tiên" : `Tóm tắt ${messages} tin nhắn đầu tiên`),
    summarizing: "Mô hình đang viết bản tóm tắt. Tin nhắn sẽ được gửi sau đó.",
    leaveTitle: "Chúng vẫn ở trong đoạn chat nhưng mô hình không còn thấy nữa.",
    move: "Hỏi trong đoạn chat mới",
  },

  allSeen: "Từ đây, mô hình lại thấy tất cả tin nhắn.",
  leftOut: (messages) => `Từ đây, mô hình không còn thấy ${messages === 1 ? "tin nhắn đầu tiên" : `${messages} tin nhắn đầu tiên`}.`,

  summary: "Bản tóm tắt",
  summarized: (messages) => `Từ đây, mô hình thấy bản tóm tắt của ${messages === 1 ? "tin nhắn đầu tiên" : `${messages} tin nhắn đầu tiên`}.`,

  overflow: {
    server: "Tin nhắn này quá lớn đối với máy chủ nên chỉ được giữ lại trong trình duyệt này. Hãy rút ngắn hoặc gỡ bớt tệp.",
    browser: "Tin nhắn này quá lớn để giữ lại cho đến khi bạn gửi. Tin nhắn sẽ mất khi bạn đóng hoặc tải lại trang.",
  },

  notRead: (name) => `Chưa đọc được ${name}.`,

  unreadable: {
    tooBig: (name) => `${name} có hơn 512 KiB văn bản. Hãy đính kèm phần cần thiết.`,
    tooBigPdf: (name) => `${name} lớn hơn 32 MiB. Hãy đính kèm phần cần thiết.`,
    noText: (name) => `${name} không phải là tệp văn bản, PDF, docx, xlsx, pptx hay epub. Mô hình chỉ đọc văn bản: nếu là tài liệu, hãy lưu ở một trong các định dạng này.`,
    old: (name) => `${name} có định dạng Office cũ. Hãy lưu thành docx, xlsx hoặc pptx rồi đính kèm.`,
    empty: (name) => `${name} không có văn bản. Với ảnh chụp văn bản, hãy nhận dạng văn bản trước.`,
    tooCostly: (name) => `Đọc ${name} tốn quá nhiều bộ nhớ hoặc thời gian. Hãy đính kèm phần cần thiết.`,
    scanned: (name) => `${name} không có văn bản, chỉ có trang quét. Hãy nhận dạng văn bản cho tệp trước.`,
    encrypted: (name) => `${name} được bảo vệ bằng mật khẩu. Hãy lưu một bản sao không có mật khẩu rồi đính kèm.`,
    broken: (name) => `${name} bị hỏng và không đọc được. Hãy lưu hoặc tải xuống lại.`,
    gone: (name) => `Không mở được ${name}. Nếu đó là thư mục, hãy chọn các tệp bên trong; nếu không, hãy chọn lại tệp.`,
  },
};
