import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Finnish texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Koodi, ${language}`,
  copyCode: "Kopioi koodi",
  wrap: "Rivitä",
  download: (name) => `Lataa nimellä ${name}`,
  preview: "Esikatselu",
  previewProblem: (reason) => `Komponenttia ei voitu näyttää: ${reason}`,
  previewModule: (name) => `Moduuli ${name} ei kuulu esikatseluihin, joissa on vain react ja react-dom.`,
  previewEmpty: "Näytettävää komponenttia ei ole. Vie yksi oletuksena.",
  previewOf: (language) => `Esikatselu: ${language}`,
  showCode: "Koodi",
  showDiagram: "Kaavio",
  diagramImage: "Kaavio. Koodi kuvaa sen tekstinä.",
  diagramProblem: "Kaaviota ei voitu piirtää.",
  diagramError: (reason) => `Kaaviota ei voitu piirtää: ${reason}.`,
  enlarge: "Suurenna",
  save: "Tallenna kaavio",
  notSaved: "Selain ei voinut piirtää kuvaa. Tallenna kaavio SVG-muodossa.",
  moveDiagram: "Kaavio. Nuolinäppäimet siirtävät sitä, + ja - zoomaavat, 0 näyttää sen kokonaan.",
  zoomIn: "Lähennä",
  zoomOut: "Loitonna",
  fit: "Näytä kokonaan",
  plain: "teksti",
  done: "tehty",
  todo: "tekemättä",
  footnotes: "Alaviitteet",
  footnote: (number) => `Alaviite ${number}`,
  backToText: (number) => `Takaisin viitteeseen ${number}`,
  backToOccurrence: (number, occurrence) => `Takaisin viitteeseen ${number}, esiintymä ${occurrence}`,
};
