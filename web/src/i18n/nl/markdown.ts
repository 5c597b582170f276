import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Dutch texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Code, ${language}`,
  copyCode: "Code kopiëren",
  wrap: "Regels afbreken",
  download: (name) => `Downloaden als ${name}`,
  preview: "Voorbeeld",
  previewProblem: (reason) => `Dit onderdeel kon niet worden getoond: ${reason}`,
  previewModule: (name) => `De module ${name} hoort niet bij voorbeelden, die alleen react en react-dom hebben.`,
  previewEmpty: "Er is geen onderdeel om te tonen. Exporteer er een als standaard.",
  previewOf: (language) => `Voorbeeld van ${language}`,
  showCode: "Code",
  showDiagram: "Diagram",
  diagramImage: "Diagram. De code beschrijft het als tekst.",
  diagramProblem: "Dit diagram kon niet worden getekend.",
  diagramError: (reason) => `Dit diagram kon niet worden getekend: ${reason}.`,
  enlarge: "Vergroten",
  save: "Diagram opslaan",
  notSaved: "De browser kon de afbeelding niet tekenen. Sla het diagram op als SVG.",
  moveDiagram: "Diagram. Met de pijltoetsen verplaats je het, met + en - zoom je, met 0 zie je alles.",
  zoomIn: "Inzoomen",
  zoomOut: "Uitzoomen",
  fit: "Alles tonen",
  plain: "tekst",
  done: "klaar",
  todo: "te doen",
  footnotes: "Voetnoten",
  footnote: (number) => `Voetnoot ${number}`,
  backToText: (number) => `Terug naar verwijzing ${number}`,
  backToOccurrence: (number, occurrence) => `Terug naar verwijzing ${number}, plaats ${occurrence}`,
};
