import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Afrikaans texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Kode, ${language}`,
  copyCode: "Kopieer kode",
  wrap: "Vou reëls om",
  download: (name) => `Laai af as ${name}`,
  preview: "Voorskou",
  previewProblem: (reason) => `Hierdie komponent kon nie gewys word nie: ${reason}`,
  previewModule: (name) => `Die module ${name} is nie deel van voorskoue nie; hulle het slegs react en react-dom.`,
  previewEmpty: "Daar is geen komponent om te wys nie. Voer een as die verstek uit.",
  previewOf: (language) => `Voorskou van ${language}`,
  showCode: "Kode",
  showDiagram: "Diagram",
  diagramImage: "Diagram. Die kode beskryf dit as teks.",
  diagramProblem: "Hierdie diagram kon nie geteken word nie.",
  diagramError: (reason) => `Hierdie diagram kon nie geteken word nie: ${reason}.`,
  enlarge: "Vergroot",
  save: "Stoor die diagram",
  notSaved: "Die blaaier kon nie die prent teken nie. Stoor die diagram as SVG.",
  moveDiagram: "Diagram. Pyltjiesleutels skuif dit, + en - zoem, 0 wys alles.",
  zoomIn: "Zoem in",
  zoomOut: "Zoem uit",
  fit: "Wys alles",
  plain: "teks",
  done: "klaar",
  todo: "te doen",
  footnotes: "Voetnote",
  footnote: (number) => `Voetnoot ${number}`,
  backToText: (number) => `Terug na verwysing ${number}`,
  backToOccurrence: (number, occurrence) => `Terug na verwysing ${number}, voorkoms ${occurrence}`,
};
