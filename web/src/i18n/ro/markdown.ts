import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Romanian texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Cod, ${language}`,
  copyCode: "Copiază codul",
  wrap: "Încadrează rândurile",
  download: (name) => `Descarcă ca ${name}`,
  preview: "Previzualizare",
  previewProblem: (reason) => `Această componentă nu a putut fi afișată: ${reason}`,
  previewModule: (name) => `Modulul ${name} nu face parte din previzualizări, care au doar react și react-dom.`,
  previewEmpty: "Nu există nicio componentă de afișat. Exportă una ca implicită.",
  previewOf: (language) => `Previzualizare ${language}`,
  showCode: "Cod",
  showDiagram: "Diagramă",
  diagramImage: "Diagramă. Codul o descrie ca text.",
  diagramProblem: "Această diagramă nu a putut fi desenată.",
  diagramError: (reason) => `Această diagramă nu a putut fi desenată: ${reason}.`,
  enlarge: "Mărește",
  save: "Salvează diagrama",
  notSaved: "Browserul nu a putut desena imaginea. Salvează diagrama ca SVG.",
  moveDiagram: "Diagramă. Săgețile o mută, + și - schimbă zoomul, 0 o arată pe toată.",
  zoomIn: "Mărește",
  zoomOut: "Micșorează",
  fit: "Arată tot",
  plain: "text",
  done: "terminat",
  todo: "de făcut",
  footnotes: "Note de subsol",
  footnote: (number) => `Nota de subsol ${number}`,
  backToText: (number) => `Înapoi la referința ${number}`,
  backToOccurrence: (number, occurrence) => `Înapoi la referința ${number}, apariția ${occurrence}`,
};
