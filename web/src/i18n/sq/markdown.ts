import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Albanian texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Kod, ${language}`,
  copyCode: "Kopjo kodin",
  wrap: "Mbështill rreshtat",
  download: (name) => `Shkarko si ${name}`,
  preview: "Pamje paraprake",
  previewProblem: (reason) => `Ky komponent nuk mund të shfaqej: ${reason}`,
  previewModule: (name) => `Moduli ${name} nuk është pjesë e pamjeve paraprake, që kanë vetëm react dhe react-dom.`,
  previewEmpty: "Nuk ka komponent për të shfaqur. Eksporto një si të parazgjedhur.",
  previewOf: (language) => `Pamje paraprake e ${language}`,
  showCode: "Kodi",
  showDiagram: "Diagrami",
  diagramImage: "Diagram. Kodi e përshkruan si tekst.",
  diagramProblem: "Ky diagram nuk mund të vizatohej.",
  diagramError: (reason) => `Ky diagram nuk mund të vizatohej: ${reason}.`,
  enlarge: "Zmadho",
  save: "Ruaj diagramin",
  notSaved: "Shfletuesi nuk mundi ta vizatonte imazhin. Ruaje diagramin si SVG.",
  moveDiagram: "Diagram. Shigjetat e lëvizin, + dhe - ndryshojnë zmadhimin, 0 e shfaq të tërin.",
  zoomIn: "Zmadho",
  zoomOut: "Zvogëlo",
  fit: "Shfaqe të tërin",
  plain: "tekst",
  done: "kryer",
  todo: "për t’u bërë",
  footnotes: "Fusnota",
  footnote: (number) => `Fusnota ${number}`,
  backToText: (number) => `Kthehu te referenca ${number}`,
  backToOccurrence: (number, occurrence) => `Kthehu te referenca ${number}, përdorimi ${occurrence}`,
};
