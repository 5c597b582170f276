import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Italian texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Codice, ${language}`,
  copyCode: "Copia codice",
  wrap: "Manda a capo",
  download: (name) => `Scarica come ${name}`,
  preview: "Anteprima",
  previewProblem: (reason) => `Non è stato possibile mostrare questo componente: ${reason}`,
  previewModule: (name) => `Il modulo ${name} non fa parte delle anteprime, che hanno solo react e react-dom.`,
  previewEmpty: "Non c’è alcun componente da mostrare. Esportane uno come predefinito.",
  previewOf: (language) => `Anteprima di ${language}`,
  showCode: "Codice",
  showDiagram: "Diagramma",
  diagramImage: "Diagramma. Il codice lo descrive come testo.",
  diagramProblem: "Non è stato possibile disegnare questo diagramma.",
  diagramError: (reason) => `Non è stato possibile disegnare questo diagramma: ${reason}.`,
  enlarge: "Ingrandisci",
  save: "Salva il diagramma",
  notSaved: "Il browser non ha potuto disegnare l’immagine. Salva il diagramma come SVG.",
  moveDiagram: "Diagramma. Le frecce lo spostano, + e - cambiano lo zoom, 0 lo mostra per intero.",
  zoomIn: "Aumenta lo zoom",
  zoomOut: "Riduci lo zoom",
  fit: "Mostra tutto",
  plain: "testo",
  done: "fatto",
  todo: "da fare",
  footnotes: "Note",
  footnote: (number) => `Nota ${number}`,
  backToText: (number) => `Torna al rimando ${number}`,
  backToOccurrence: (number, occurrence) => `Torna al rimando ${number}, occorrenza ${occurrence}`,
};
