import type { MarkdownTexts } from "./en";

/** Italian texts for rendered answers. */
export const it: MarkdownTexts = {
  code: (language) => `Codice, ${language}`,
  copyCode: "Copia codice",
  wrap: "Manda a capo",
  download: (name) => `Scarica come ${name}`,
  preview: "Anteprima",
  previewProblem: (reason) => `Non è stato possibile mostrare questo componente: ${reason}`,
  previewOf: (language) => `Anteprima di ${language}`,
  showCode: "Codice",
  showDiagram: "Diagramma",
  diagramImage: "Diagramma. Il codice lo descrive come testo.",
  diagramProblem: "Non è stato possibile disegnare questo diagramma.",
  diagramError: (reason) => `Non è stato possibile disegnare questo diagramma: ${reason}.`,
  plain: "testo",
  done: "fatto",
  todo: "da fare",
  footnotes: "Note",
  footnote: (number) => `Nota ${number}`,
  backToText: (number) => `Torna al rimando ${number}`,
  backToOccurrence: (number, occurrence) => `Torna al rimando ${number}, occorrenza ${occurrence}`,
};
