import type { MarkdownTexts } from "./en";

/** Spanish texts for rendered answers. */
export const es: MarkdownTexts = {
  code: (language) => `Código, ${language}`,
  copyCode: "Copiar código",
  wrap: "Ajustar líneas",
  download: (name) => `Descargar como ${name}`,
  preview: "Vista previa",
  previewProblem: (reason) => `No se ha podido mostrar este componente: ${reason}`,
  previewOf: (language) => `Vista previa de ${language}`,
  showCode: "Código",
  showDiagram: "Diagrama",
  diagramImage: "Diagrama. El código lo describe como texto.",
  diagramProblem: "No se ha podido dibujar este diagrama.",
  diagramError: (reason) => `No se ha podido dibujar este diagrama: ${reason}.`,
  plain: "texto",
  done: "hecho",
  todo: "pendiente",
  footnotes: "Notas al pie",
  footnote: (number) => `Nota al pie ${number}`,
  backToText: (number) => `Volver a la referencia ${number}`,
  backToOccurrence: (number, occurrence) => `Volver a la referencia ${number}, aparición ${occurrence}`,
};
