import type { MarkdownTexts } from "./en";

/** German texts for rendered answers. */
export const de: MarkdownTexts = {
  code: (language) => `Code, ${language}`,
  copyCode: "Code kopieren",
  wrap: "Zeilen umbrechen",
  download: (name) => `Als ${name} herunterladen`,
  preview: "Vorschau",
  previewProblem: (reason) => `Diese Komponente konnte nicht angezeigt werden: ${reason}`,
  previewOf: (language) => `Vorschau von ${language}`,
  showCode: "Code",
  showDiagram: "Diagramm",
  diagramImage: "Diagramm. Der Code beschreibt es als Text.",
  diagramProblem: "Dieses Diagramm konnte nicht gezeichnet werden.",
  diagramError: (reason) => `Dieses Diagramm konnte nicht gezeichnet werden: ${reason}.`,
  plain: "Text",
  done: "erledigt",
  todo: "offen",
  footnotes: "Fußnoten",
  footnote: (number) => `Fußnote ${number}`,
  backToText: (number) => `Zurück zum Verweis ${number}`,
  backToOccurrence: (number, occurrence) => `Zurück zum Verweis ${number}, Stelle ${occurrence}`,
};
