import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Turkish texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Kod, ${language}`,
  copyCode: "Kodu kopyala",
  wrap: "Satırları kaydır",
  download: (name) => `${name} olarak indir`,
  preview: "Önizleme",
  previewProblem: (reason) => `Bu bileşen gösterilemedi: ${reason}`,
  previewModule: (name) => `${name} modülü önizlemelerde yok: önizlemelerde yalnızca react ve react-dom var.`,
  previewEmpty: "Gösterilecek bileşen yok. Birini varsayılan olarak dışa aktarın.",
  previewOf: (language) => `${language} önizlemesi`,
  showCode: "Kod",
  showDiagram: "Diyagram",
  diagramImage: "Diyagram. Kod, onu metin olarak açıklar.",
  diagramProblem: "Bu diyagram çizilemedi.",
  diagramError: (reason) => `Bu diyagram çizilemedi: ${reason}.`,
  enlarge: "Büyüt",
  save: "Diyagramı kaydet",
  notSaved: "Tarayıcı görüntüyü çizemedi. Diyagramı SVG olarak kaydedin.",
  moveDiagram: "Diyagram. Ok tuşları kaydırır, + ve - yakınlaştırıp uzaklaştırır, 0 tümünü gösterir.",
  zoomIn: "Yakınlaştır",
  zoomOut: "Uzaklaştır",
  fit: "Tümünü göster",
  plain: "metin",
  done: "yapıldı",
  todo: "yapılacak",
  footnotes: "Dipnotlar",
  footnote: (number) => `Dipnot ${number}`,
  backToText: (number) => `Metne dön: dipnot ${number}`,
  backToOccurrence: (number, occurrence) => `Metne dön: dipnot ${number}, ${occurrence}. kullanım`,
};
