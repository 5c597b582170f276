import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Malay texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Kod, ${language}`,
  copyCode: "Salin kod",
  wrap: "Balut baris",
  download: (name) => `Muat turun sebagai ${name}`,
  preview: "Pratonton",
  previewProblem: (reason) => `Komponen ini tidak dapat ditunjukkan: ${reason}`,
  previewModule: (name) => `Modul ${name} bukan sebahagian daripada pratonton, yang hanya mempunyai react dan react-dom.`,
  previewEmpty: "Tiada komponen untuk ditunjukkan. Eksport satu sebagai lalai.",
  previewOf: (language) => `Pratonton ${language}`,
  showCode: "Kod",
  showDiagram: "Rajah",
  diagramImage: "Rajah. Kod menerangkannya sebagai teks.",
  diagramProblem: "Rajah ini tidak dapat dilukis.",
  diagramError: (reason) => `Rajah ini tidak dapat dilukis: ${reason}.`,
  enlarge: "Besarkan",
  save: "Simpan rajah",
  notSaved: "Penyemak imbas tidak dapat melukis gambar. Simpan rajah sebagai SVG.",
  moveDiagram: "Rajah. Kekunci anak panah menggerakkannya, + dan - mengezum, 0 menunjukkan semuanya.",
  zoomIn: "Zum masuk",
  zoomOut: "Zum keluar",
  fit: "Tunjukkan semuanya",
  plain: "teks",
  done: "selesai",
  todo: "belum selesai",
  footnotes: "Nota kaki",
  footnote: (number) => `Nota kaki ${number}`,
  backToText: (number) => `Kembali ke rujukan ${number}`,
  backToOccurrence: (number, occurrence) => `Kembali ke rujukan ${number}, kemunculan ${occurrence}`,
};
