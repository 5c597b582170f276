import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Czech texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Kód, ${language}`,
  copyCode: "Kopírovat kód",
  wrap: "Zalamovat řádky",
  download: (name) => `Stáhnout jako ${name}`,
  preview: "Náhled",
  previewProblem: (reason) => `Tuto komponentu se nepodařilo zobrazit: ${reason}`,
  previewModule: (name) => `Modul ${name} není součástí náhledů, ty mají jen react a react-dom.`,
  previewEmpty: "Není tu žádná komponenta k zobrazení. Exportujte jednu jako výchozí.",
  previewOf: (language) => `Náhled: ${language}`,
  showCode: "Kód",
  showDiagram: "Diagram",
  diagramImage: "Diagram. Kód ho popisuje textem.",
  diagramProblem: "Tento diagram se nepodařilo vykreslit.",
  diagramError: (reason) => `Tento diagram se nepodařilo vykreslit: ${reason}.`,
  enlarge: "Zvětšit",
  save: "Uložit diagram",
  notSaved: "Prohlížeč nemohl obrázek vykreslit. Uložte diagram jako SVG.",
  moveDiagram: "Diagram. Šipky ho posouvají, + a - mění přiblížení, 0 zobrazí celek.",
  zoomIn: "Přiblížit",
  zoomOut: "Oddálit",
  fit: "Zobrazit celé",
  plain: "text",
  done: "hotovo",
  todo: "zbývá udělat",
  footnotes: "Poznámky pod čarou",
  footnote: (number) => `Poznámka pod čarou ${number}`,
  backToText: (number) => `Zpět na odkaz ${number}`,
  backToOccurrence: (number, occurrence) => `Zpět na odkaz ${number}, výskyt ${occurrence}`,
};
