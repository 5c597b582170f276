import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Indonesian texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Kode, ${language}`,
  copyCode: "Salin kode",
  wrap: "Bungkus baris",
  download: (name) => `Unduh sebagai ${name}`,
  preview: "Pratinjau",
  previewProblem: (reason) => `Komponen ini tidak bisa ditampilkan: ${reason}`,
  previewModule: (name) => `Modul ${name} bukan bagian dari pratinjau, yang hanya memiliki react dan react-dom.`,
  previewEmpty: "Tidak ada komponen untuk ditampilkan. Ekspor satu sebagai default.",
  previewOf: (language) => `Pratinjau ${language}`,
  showCode: "Kode",
  showDiagram: "Diagram",
  diagramImage: "Diagram. Kode menjelaskannya sebagai teks.",
  diagramProblem: "Diagram ini tidak bisa digambar.",
  diagramError: (reason) => `Diagram ini tidak bisa digambar: ${reason}.`,
  enlarge: "Perbesar",
  save: "Simpan diagram",
  notSaved: "Browser tidak bisa menggambar diagram. Simpan diagram sebagai SVG.",
  moveDiagram: "Diagram. Tombol panah menggesernya, + dan - mengatur zoom, 0 menampilkan semuanya.",
  zoomIn: "Perbesar",
  zoomOut: "Perkecil",
  fit: "Tampilkan semuanya",
  plain: "teks",
  done: "selesai",
  todo: "belum selesai",
  footnotes: "Catatan kaki",
  footnote: (number) => `Catatan kaki ${number}`,
  backToText: (number) => `Kembali ke rujukan ${number}`,
  backToOccurrence: (number, occurrence) => `Kembali ke rujukan ${number}, kemunculan ${occurrence}`,
};
