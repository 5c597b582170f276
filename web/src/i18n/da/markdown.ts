import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Danish texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Kode, ${language}`,
  copyCode: "Kopiér kode",
  wrap: "Ombryd linjer",
  download: (name) => `Download som ${name}`,
  preview: "Forhåndsvisning",
  previewProblem: (reason) => `Komponenten kunne ikke vises: ${reason}`,
  previewModule: (name) => `Modulet ${name} er ikke en del af forhåndsvisninger, som kun har react og react-dom.`,
  previewEmpty: "Der er ingen komponent at vise. Eksportér en som standard.",
  previewOf: (language) => `Forhåndsvisning af ${language}`,
  showCode: "Kode",
  showDiagram: "Diagram",
  diagramImage: "Diagram. Koden beskriver det som tekst.",
  diagramProblem: "Diagrammet kunne ikke tegnes.",
  diagramError: (reason) => `Diagrammet kunne ikke tegnes: ${reason}.`,
  enlarge: "Forstør",
  save: "Gem diagrammet",
  notSaved: "Browseren kunne ikke tegne billedet. Gem diagrammet som SVG.",
  moveDiagram: "Diagram. Piletasterne flytter det, + og - zoomer, 0 viser det hele.",
  zoomIn: "Zoom ind",
  zoomOut: "Zoom ud",
  fit: "Vis det hele",
  plain: "tekst",
  done: "færdig",
  todo: "mangler",
  footnotes: "Fodnoter",
  footnote: (number) => `Fodnote ${number}`,
  backToText: (number) => `Tilbage til henvisning ${number}`,
  backToOccurrence: (number, occurrence) => `Tilbage til henvisning ${number}, forekomst ${occurrence}`,
};
