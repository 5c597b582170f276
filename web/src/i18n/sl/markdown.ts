import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Slovenian texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Koda, ${language}`,
  copyCode: "Kopiraj kodo",
  wrap: "Prelomi vrstice",
  download: (name) => `Prenesi kot ${name}`,
  preview: "Predogled",
  previewProblem: (reason) => `Te komponente ni bilo mogoče prikazati: ${reason}`,
  previewModule: (name) => `Modul ${name} ni del predogledov, ki imajo samo react in react-dom.`,
  previewEmpty: "Ni komponente za prikaz. Izvozi eno kot privzeto.",
  previewOf: (language) => `Predogled: ${language}`,
  showCode: "Koda",
  showDiagram: "Diagram",
  diagramImage: "Diagram. Koda ga opisuje z besedilom.",
  diagramProblem: "Tega diagrama ni bilo mogoče narisati.",
  diagramError: (reason) => `Tega diagrama ni bilo mogoče narisati: ${reason}.`,
  enlarge: "Povečaj",
  save: "Shrani diagram",
  notSaved: "Brskalnik ni mogel narisati slike. Shranite diagram kot SVG.",
  moveDiagram: "Diagram. Puščične tipke ga premikajo, + in - spreminjata povečavo, 0 pokaže celoto.",
  zoomIn: "Povečaj",
  zoomOut: "Pomanjšaj",
  fit: "Pokaži vse",
  plain: "besedilo",
  done: "opravljeno",
  todo: "za opraviti",
  footnotes: "Sprotne opombe",
  footnote: (number) => `Sprotna opomba ${number}`,
  backToText: (number) => `Nazaj na sklic ${number}`,
  backToOccurrence: (number, occurrence) => `Nazaj na sklic ${number}, pojavitev ${occurrence}`,
};
