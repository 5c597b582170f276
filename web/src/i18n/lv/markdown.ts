import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Latvian texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Kods, ${language}`,
  copyCode: "Kopēt kodu",
  wrap: "Aplauzt rindas",
  download: (name) => `Lejupielādēt kā ${name}`,
  preview: "Priekšskatījums",
  previewProblem: (reason) => `Šo komponentu neizdevās parādīt: ${reason}`,
  previewModule: (name) => `Moduļa ${name} priekšskatījumos nav, tajos ir tikai react un react-dom.`,
  previewEmpty: "Nav komponenta, ko parādīt. Eksportējiet vienu kā noklusējumu.",
  previewOf: (language) => `Priekšskatījums: ${language}`,
  showCode: "Kods",
  showDiagram: "Diagramma",
  diagramImage: "Diagramma. Kods to apraksta kā tekstu.",
  diagramProblem: "Šo diagrammu neizdevās uzzīmēt.",
  diagramError: (reason) => `Šo diagrammu neizdevās uzzīmēt: ${reason}.`,
  enlarge: "Palielināt",
  save: "Saglabāt diagrammu",
  notSaved: "Pārlūks nevarēja uzzīmēt attēlu. Saglabājiet diagrammu kā SVG.",
  moveDiagram: "Diagramma. Bultiņas to pārvieto, + un - maina mērogu, 0 parāda to visu.",
  zoomIn: "Tuvināt",
  zoomOut: "Tālināt",
  fit: "Rādīt visu",
  plain: "teksts",
  done: "paveikts",
  todo: "nav paveikts",
  footnotes: "Vēres",
  footnote: (number) => `${number}. vēre`,
  backToText: (number) => `Atpakaļ uz ${number}. atsauci`,
  backToOccurrence: (number, occurrence) => `Atpakaļ uz ${number}. atsauci, ${occurrence}. vieta`,
};
