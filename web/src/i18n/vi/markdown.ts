import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Vietnamese texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Mã, ${language}`,
  copyCode: "Sao chép mã",
  wrap: "Ngắt dòng",
  download: (name) => `Tải xuống dưới dạng ${name}`,
  preview: "Xem trước",
  previewProblem: (reason) => `Không hiển thị được thành phần này: ${reason}`,
  previewModule: (name) => `Mô-đun ${name} không có trong bản xem trước, nơi chỉ có react và react-dom.`,
  previewEmpty: "Không có thành phần nào để hiển thị. Hãy xuất một thành phần làm mặc định.",
  previewOf: (language) => `Xem trước ${language}`,
  showCode: "Mã",
  showDiagram: "Sơ đồ",
  diagramImage: "Sơ đồ. Mã nguồn mô tả sơ đồ bằng văn bản.",
  diagramProblem: "Không vẽ được sơ đồ này.",
  diagramError: (reason) => `Không vẽ được sơ đồ này: ${reason}.`,
  enlarge: "Phóng to",
  save: "Lưu sơ đồ",
  notSaved: "Trình duyệt không vẽ được hình. Hãy lưu sơ đồ dưới dạng SVG.",
  moveDiagram: "Sơ đồ. Phím mũi tên để di chuyển, + và - để thu phóng, 0 để hiện toàn bộ.",
  zoomIn: "Phóng to",
  zoomOut: "Thu nhỏ",
  fit: "Hiện toàn bộ",
  plain: "văn bản",
  done: "đã xong",
  todo: "cần làm",
  footnotes: "Chú thích cuối trang",
  footnote: (number) => `Chú thích ${number}`,
  backToText: (number) => `Quay lại tham chiếu ${number}`,
  backToOccurrence: (number, occurrence) => `Quay lại tham chiếu ${number}, lần xuất hiện ${occurrence}`,
};
