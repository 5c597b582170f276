import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Azerbaijani texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Kod, ${language}`,
  copyCode: "Kodu kopyala",
  wrap: "Sətirdən-sətrə keçir",
  download: (name) => `${name} kimi endir`,
  preview: "Önbaxış",
  previewProblem: (reason) => `Bu komponenti göstərmək olmadı: ${reason}`,
  previewModule: (name) => `${name} modulu önbaxışlarda yoxdur: onlarda yalnız react və react-dom var.`,
  previewEmpty: "Göstəriləcək komponent yoxdur. Birini standart olaraq ixrac edin.",
  previewOf: (language) => `Önbaxış: ${language}`,
  showCode: "Kod",
  showDiagram: "Diaqram",
  diagramImage: "Diaqram. Kod onu mətn kimi təsvir edir.",
  diagramProblem: "Bu diaqramı çəkmək olmadı.",
  diagramError: (reason) => `Bu diaqramı çəkmək olmadı: ${reason}.`,
  enlarge: "Böyüt",
  save: "Diaqramı saxla",
  notSaved: "Brauzer şəkli çəkə bilmədi. Diaqramı SVG kimi saxlayın.",
  moveDiagram: "Diaqram. Ox düymələri onu hərəkət etdirir, + və - miqyası dəyişir, 0 hamısını göstərir.",
  zoomIn: "Böyüt",
  zoomOut: "Kiçilt",
  fit: "Hamısını göstər",
  plain: "mətn",
  done: "edilib",
  todo: "ediləcək",
  footnotes: "Qeydlər",
  footnote: (number) => `Qeyd ${number}`,
  backToText: (number) => `Mətnə qayıt: istinad ${number}`,
  backToOccurrence: (number, occurrence) => `Mətnə qayıt: istinad ${number}, istifadə ${occurrence}`,
};
