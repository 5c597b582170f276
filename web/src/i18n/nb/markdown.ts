import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Norwegian Bokmål texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Kode, ${language}`,
  copyCode: "Kopier kode",
  wrap: "Bryt linjer",
  download: (name) => `Last ned som ${name}`,
  preview: "Forhåndsvisning",
  previewProblem: (reason) => `Komponenten kunne ikke vises: ${reason}`,
  previewModule: (name) => `Modulen ${name} er ikke med i forhåndsvisninger, som bare har react og react-dom.`,
  previewEmpty: "Det finnes ingen komponent å vise. Eksporter en som standard.",
  previewOf: (language) => `Forhåndsvisning av ${language}`,
  showCode: "Kode",
  showDiagram: "Diagram",
  diagramImage: "Diagram. Koden beskriver det som tekst.",
  diagramProblem: "Diagrammet kunne ikke tegnes.",
  diagramError: (reason) => `Diagrammet kunne ikke tegnes: ${reason}.`,
  enlarge: "Forstørr",
  save: "Lagre diagrammet",
  notSaved: "Nettleseren kunne ikke tegne bildet. Lagre diagrammet som SVG.",
  moveDiagram: "Diagram. Piltastene flytter det, + og - zoomer, 0 viser alt.",
  zoomIn: "Zoom inn",
  zoomOut: "Zoom ut",
  fit: "Vis alt",
  plain: "tekst",
  done: "ferdig",
  todo: "gjenstår",
  footnotes: "Fotnoter",
  footnote: (number) => `Fotnote ${number}`,
  backToText: (number) => `Tilbake til henvisning ${number}`,
  backToOccurrence: (number, occurrence) => `Tilbake til henvisning ${number}, forekomst ${occurrence}`,
};
