import type { MarkdownTexts } from "./en";

/** French texts for rendered answers. */
export const fr: MarkdownTexts = {
  code: (language) => `Code, ${language}`,
  copyCode: "Copier le code",
  wrap: "Renvoyer à la ligne",
  download: (name) => `Télécharger sous le nom ${name}`,
  preview: "Aperçu",
  previewProblem: (reason) => `Ce composant n’a pas pu être affiché : ${reason}`,
  previewOf: (language) => `Aperçu de ${language}`,
  showCode: "Code",
  showDiagram: "Diagramme",
  diagramImage: "Diagramme. Le code le décrit sous forme de texte.",
  diagramProblem: "Ce diagramme n’a pas pu être dessiné.",
  diagramError: (reason) => `Ce diagramme n’a pas pu être dessiné : ${reason}.`,
  plain: "texte",
  done: "fait",
  todo: "à faire",
  footnotes: "Notes",
  footnote: (number) => `Note ${number}`,
  backToText: (number) => `Retour au renvoi ${number}`,
  backToOccurrence: (number, occurrence) => `Retour au renvoi ${number}, occurrence ${occurrence}`,
};
