import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** European Portuguese texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Código, ${language}`,
  copyCode: "Copiar código",
  wrap: "Moldar linhas",
  download: (name) => `Transferir como ${name}`,
  preview: "Pré-visualizar",
  previewProblem: (reason) => `Não foi possível mostrar este componente: ${reason}`,
  previewModule: (name) => `O módulo ${name} não faz parte das pré-visualizações, que têm apenas react e react-dom.`,
  previewEmpty: "Não há nenhum componente para mostrar. Exporte um como predefinido.",
  previewOf: (language) => `Pré-visualização de ${language}`,
  showCode: "Código",
  showDiagram: "Diagrama",
  diagramImage: "Diagrama. O código descreve-o em texto.",
  diagramProblem: "Não foi possível desenhar este diagrama.",
  diagramError: (reason) => `Não foi possível desenhar este diagrama: ${reason}.`,
  enlarge: "Ampliar",
  save: "Guardar o diagrama",
  notSaved: "O navegador não conseguiu desenhar a imagem. Guarde o diagrama como SVG.",
  moveDiagram: "Diagrama. As setas movem-no, + e - alteram o zoom, 0 mostra tudo.",
  zoomIn: "Ampliar",
  zoomOut: "Reduzir",
  fit: "Mostrar tudo",
  plain: "texto",
  done: "feito",
  todo: "por fazer",
  footnotes: "Notas de rodapé",
  footnote: (number) => `Nota de rodapé ${number}`,
  backToText: (number) => `Voltar à referência ${number}`,
  backToOccurrence: (number, occurrence) => `Voltar à referência ${number}, ocorrência ${occurrence}`,
};
