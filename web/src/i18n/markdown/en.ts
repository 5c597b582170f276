/** English texts for rendered answers. */
export const en = {
  code: (language: string) => `Code, ${language}`,
  copyCode: "Copy code",
  wrap: "Wrap lines",
  download: (name: string) => `Download as ${name}`,
  preview: "Preview",
  previewProblem: (reason: string) => `This component could not be shown: ${reason}`,
  previewOf: (language: string) => `Preview of ${language.toUpperCase()}`,
  showCode: "Code",
  showDiagram: "Diagram",
  diagramImage: "Diagram. The code describes it as text.",
  diagramProblem: (reason: string) => `This diagram could not be drawn${reason === "" ? "." : `: ${reason.replace(/[:.]$/, "")}.`}`,
  enlarge: "Enlarge the diagram",
  save: "Save the diagram",
  notSaved: "The browser could not draw the picture. Save the diagram as SVG.",
  moveDiagram: "Diagram. Arrow keys move it, + and - zoom, 0 shows all of it.",
  zoomIn: "Zoom in",
  zoomOut: "Zoom out",
  fit: "Show all of it",
  plain: "text",
  done: "done",
  todo: "to do",
  footnotes: "Footnotes",
  footnote: (number: number) => `Footnote ${number}`,
  backToText: (number: number, occurrence: number) =>
    occurrence === 1 ? `Back to reference ${number}` : `Back to reference ${number}, occurrence ${occurrence}`,
};

export type MarkdownTexts = typeof en;
