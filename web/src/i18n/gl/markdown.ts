import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Galician texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Código, ${language}`,
  copyCode: "Copiar o código",
  wrap: "Axustar as liñas",
  download: (name) => `Descargar como ${name}`,
  preview: "Vista previa",
  previewProblem: (reason) => `Non se puido mostrar este compoñente: ${reason}`,
  previewModule: (name) => `O módulo ${name} non forma parte das vistas previas, que só teñen react e react-dom.`,
  previewEmpty: "Non hai ningún compoñente que mostrar. Exporta un por defecto.",
  previewOf: (language) => `Vista previa de ${language}`,
  showCode: "Código",
  showDiagram: "Diagrama",
  diagramImage: "Diagrama. O código descríbeo como texto.",
  diagramProblem: "Non se puido debuxar este diagrama.",
  diagramError: (reason) => `Non se puido debuxar este diagrama: ${reason}.`,
  enlarge: "Ampliar",
  save: "Gardar o diagrama",
  notSaved: "O navegador non puido debuxar a imaxe. Garda o diagrama como SVG.",
  moveDiagram: "Diagrama. As frechas móveno, + e - cambian o zoom, 0 móstrao enteiro.",
  zoomIn: "Achegar",
  zoomOut: "Afastar",
  fit: "Mostralo enteiro",
  plain: "texto",
  done: "feito",
  todo: "por facer",
  footnotes: "Notas ao pé",
  footnote: (number) => `Nota ao pé ${number}`,
  backToText: (number) => `Volver á referencia ${number}`,
  backToOccurrence: (number, occurrence) => `Volver á referencia ${number}, aparición ${occurrence}`,
};
