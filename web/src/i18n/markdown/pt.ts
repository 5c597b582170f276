import type { MarkdownTexts } from "./en";

/** Brazilian Portuguese texts for rendered answers. */
export const pt: MarkdownTexts = {
  code: (language) => `Código, ${language}`,
  copyCode: "Copiar código",
  wrap: "Quebrar linhas",
  download: (name) => `Baixar como ${name}`,
  preview: "Visualizar",
  previewProblem: (reason) => `Não foi possível mostrar este componente: ${reason}`,
  previewOf: (language) => `Visualização de ${language}`,
  showCode: "Código",
  showDiagram: "Diagrama",
  diagramImage: "Diagrama. O código o descreve como texto.",
  diagramProblem: "Não foi possível desenhar este diagrama.",
  diagramError: (reason) => `Não foi possível desenhar este diagrama: ${reason}.`,
  plain: "texto",
  done: "feito",
  todo: "a fazer",
  footnotes: "Notas de rodapé",
  footnote: (number) => `Nota de rodapé ${number}`,
  backToText: (number) => `Voltar à referência ${number}`,
  backToOccurrence: (number, occurrence) => `Voltar à referência ${number}, ocorrência ${occurrence}`,
};
