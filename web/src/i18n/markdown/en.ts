/** English texts for rendered answers. */
export const en = {
  code: (language: string) => `Code, ${language}`,
  copyCode: "Copy code",
  wrap: "Wrap lines",
  download: (name: string) => `Download as ${name}`,
  preview: "Preview",
  previewProblem: (reason: string) => `This component could not be shown: ${reason}`,
  previewOf: (language: string) => `Preview of ${language}`,
  showCode: "Code",
  showDiagram: "Diagram",
  diagramImage: "Diagram. The code describes it as text.",
  diagramProblem: "This diagram could not be drawn.",
  diagramError: (reason: string) => `This diagram could not be drawn: ${reason}.`,
  plain: "text",
  done: "done",
  todo: "to do",
  footnotes: "Footnotes",
  footnote: (number: number) => `Footnote ${number}`,
  backToText: (number: number) => `Back to reference ${number}`,
  backToOccurrence: (number: number, occurrence: number) => `Back to reference ${number}, occurrence ${occurrence}`,
};

export type MarkdownTexts = typeof en;
