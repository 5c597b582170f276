import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Estonian texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Kood, ${language}`,
  copyCode: "Kopeeri kood",
  wrap: "Murra read",
  download: (name) => `Laadi alla kui ${name}`,
  preview: "Eelvaade",
  previewProblem: (reason) => `Seda komponenti ei saanud kuvada: ${reason}`,
  previewModule: (name) => `Moodulit ${name} eelvaadetes pole, neis on ainult react ja react-dom.`,
  previewEmpty: "Pole ühtegi komponenti, mida näidata. Ekspordi üks vaikimisi.",
  previewOf: (language) => `Eelvaade: ${language}`,
  showCode: "Kood",
  showDiagram: "Diagramm",
  diagramImage: "Diagramm. Kood kirjeldab seda tekstina.",
  diagramProblem: "Seda diagrammi ei saanud joonistada.",
  diagramError: (reason) => `Seda diagrammi ei saanud joonistada: ${reason}.`,
  enlarge: "Suurenda",
  save: "Salvesta diagramm",
  notSaved: "Brauser ei saanud pilti joonistada. Salvesta diagramm SVG-failina.",
  moveDiagram: "Diagramm. Nooleklahvid liigutavad seda, + ja - suumivad, 0 näitab tervikut.",
  zoomIn: "Suurenda",
  zoomOut: "Vähenda",
  fit: "Näita tervikut",
  plain: "tekst",
  done: "tehtud",
  todo: "tegemata",
  footnotes: "Joonealused märkused",
  footnote: (number) => `Joonealune märkus ${number}`,
  backToText: (number) => `Tagasi viite ${number} juurde`,
  backToOccurrence: (number, occurrence) => `Tagasi viite ${number} juurde, ${occurrence}. esinemine`,
};
