import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Slovak texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Kód, ${language}`,
  copyCode: "Kopírovať kód",
  wrap: "Zalamovať riadky",
  download: (name) => `Stiahnuť ako ${name}`,
  preview: "Ukážka",
  previewProblem: (reason) => `Tento komponent sa nepodarilo zobraziť: ${reason}`,
  previewModule: (name) => `Modul ${name} nie je súčasťou ukážok, tie majú iba react a react-dom.`,
  previewEmpty: "Nie je tu žiadny komponent na zobrazenie. Exportujte jeden ako predvolený.",
  previewOf: (language) => `Ukážka: ${language}`,
  showCode: "Kód",
  showDiagram: "Diagram",
  diagramImage: "Diagram. Kód ho opisuje textom.",
  diagramProblem: "Tento diagram sa nepodarilo vykresliť.",
  diagramError: (reason) => `Tento diagram sa nepodarilo vykresliť: ${reason}.`,
  enlarge: "Zväčšiť",
  save: "Uložiť diagram",
  notSaved: "Prehliadač nedokázal obrázok vykresliť. Uložte diagram ako SVG.",
  moveDiagram: "Diagram. Šípky ho posúvajú, + a - menia priblíženie, 0 zobrazí celok.",
  zoomIn: "Priblížiť",
  zoomOut: "Oddialiť",
  fit: "Zobraziť celé",
  plain: "text",
  done: "hotové",
  todo: "treba urobiť",
  footnotes: "Poznámky pod čiarou",
  footnote: (number) => `Poznámka pod čiarou ${number}`,
  backToText: (number) => `Späť na odkaz ${number}`,
  backToOccurrence: (number, occurrence) => `Späť na odkaz ${number}, výskyt ${occurrence}`,
};
