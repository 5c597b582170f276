import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Catalan texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Codi, ${language}`,
  copyCode: "Copia el codi",
  wrap: "Ajusta les línies",
  download: (name) => `Baixa com a ${name}`,
  preview: "Previsualitza",
  previewProblem: (reason) => `No s’ha pogut mostrar aquest component: ${reason}`,
  previewModule: (name) => `El mòdul ${name} no forma part de les previsualitzacions, que només tenen react i react-dom.`,
  previewEmpty: "No hi ha cap component per mostrar. Exporta’n un per defecte.",
  previewOf: (language) => `Previsualització de ${language}`,
  showCode: "Codi",
  showDiagram: "Diagrama",
  diagramImage: "Diagrama. El codi el descriu com a text.",
  diagramProblem: "No s’ha pogut dibuixar aquest diagrama.",
  diagramError: (reason) => `No s’ha pogut dibuixar aquest diagrama: ${reason}.`,
  enlarge: "Amplia",
  save: "Desa el diagrama",
  notSaved: "El navegador no ha pogut dibuixar la imatge. Desa el diagrama com a SVG.",
  moveDiagram: "Diagrama. Les fletxes el mouen, + i - canvien el zoom, 0 el mostra sencer.",
  zoomIn: "Apropa",
  zoomOut: "Allunya",
  fit: "Mostra’l sencer",
  plain: "text",
  done: "fet",
  todo: "per fer",
  footnotes: "Notes al peu",
  footnote: (number) => `Nota al peu ${number}`,
  backToText: (number) => `Torna a la referència ${number}`,
  backToOccurrence: (number, occurrence) => `Torna a la referència ${number}, aparició ${occurrence}`,
};
