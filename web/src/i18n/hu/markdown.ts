import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Hungarian texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Kód, ${language}`,
  copyCode: "Kód másolása",
  wrap: "Sorok tördelése",
  download: (name) => `Letöltés: ${name}`,
  preview: "Előnézet",
  previewProblem: (reason) => `Ezt az összetevőt nem sikerült megjeleníteni: ${reason}`,
  previewModule: (name) => `A(z) ${name} modul nem része az előnézeteknek, azokban csak a react és a react-dom van meg.`,
  previewEmpty: "Nincs megjeleníthető összetevő. Exportálj egyet alapértelmezettként.",
  previewOf: (language) => `Előnézet: ${language}`,
  showCode: "Kód",
  showDiagram: "Diagram",
  diagramImage: "Diagram. A kód szövegként írja le.",
  diagramProblem: "Ezt a diagramot nem sikerült megrajzolni.",
  diagramError: (reason) => `Ezt a diagramot nem sikerült megrajzolni: ${reason}.`,
  enlarge: "Nagyítás",
  save: "Diagram mentése",
  notSaved: "A böngésző nem tudta megrajzolni a képet. Mentsd a diagramot SVG-ként.",
  moveDiagram: "Diagram. A nyílbillentyűk mozgatják, a + és a - nagyít és kicsinyít, a 0 az egészet mutatja.",
  zoomIn: "Nagyítás",
  zoomOut: "Kicsinyítés",
  fit: "Az egész megjelenítése",
  plain: "szöveg",
  done: "kész",
  todo: "teendő",
  footnotes: "Lábjegyzetek",
  footnote: (number) => `${number}. lábjegyzet`,
  backToText: (number) => `Vissza a(z) ${number}. hivatkozáshoz`,
  backToOccurrence: (number, occurrence) => `Vissza a(z) ${number}. hivatkozáshoz, ${occurrence}. előfordulás`,
};
