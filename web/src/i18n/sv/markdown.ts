import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Swedish texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Kod, ${language}`,
  copyCode: "Kopiera kod",
  wrap: "Radbryt",
  download: (name) => `Ladda ner som ${name}`,
  preview: "Förhandsvisning",
  previewProblem: (reason) => `Komponenten kunde inte visas: ${reason}`,
  previewModule: (name) => `Modulen ${name} ingår inte i förhandsvisningar, som bara har react och react-dom.`,
  previewEmpty: "Det finns ingen komponent att visa. Exportera en som standard.",
  previewOf: (language) => `Förhandsvisning av ${language}`,
  showCode: "Kod",
  showDiagram: "Diagram",
  diagramImage: "Diagram. Koden beskriver det som text.",
  diagramProblem: "Diagrammet kunde inte ritas.",
  diagramError: (reason) => `Diagrammet kunde inte ritas: ${reason}.`,
  enlarge: "Förstora",
  save: "Spara diagrammet",
  notSaved: "Webbläsaren kunde inte rita bilden. Spara diagrammet som SVG.",
  moveDiagram: "Diagram. Piltangenterna flyttar det, + och - zoomar, 0 visar allt.",
  zoomIn: "Zooma in",
  zoomOut: "Zooma ut",
  fit: "Visa allt",
  plain: "text",
  done: "klart",
  todo: "att göra",
  footnotes: "Fotnoter",
  footnote: (number) => `Fotnot ${number}`,
  backToText: (number) => `Tillbaka till hänvisning ${number}`,
  backToOccurrence: (number, occurrence) => `Tillbaka till hänvisning ${number}, förekomst ${occurrence}`,
};
