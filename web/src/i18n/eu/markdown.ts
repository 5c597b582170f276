import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Basque texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Kodea, ${language}`,
  copyCode: "Kopiatu kodea",
  wrap: "Egokitu lerroak",
  download: (name) => `Deskargatu honela: ${name}`,
  preview: "Aurrebista",
  previewProblem: (reason) => `Ezin izan da osagai hau erakutsi: ${reason}`,
  previewModule: (name) => `${name} modulua ez dago aurrebistetan: react eta react-dom baino ez dituzte.`,
  previewEmpty: "Ez dago erakusteko osagairik. Esportatu bat lehenetsi gisa.",
  previewOf: (language) => `Aurrebista: ${language}`,
  showCode: "Kodea",
  showDiagram: "Diagrama",
  diagramImage: "Diagrama. Kodeak testu gisa deskribatzen du.",
  diagramProblem: "Ezin izan da diagrama hau marraztu.",
  diagramError: (reason) => `Ezin izan da diagrama hau marraztu: ${reason}.`,
  enlarge: "Handitu",
  save: "Gorde diagrama",
  notSaved: "Nabigatzaileak ezin izan du irudia marraztu. Gorde diagrama SVG gisa.",
  moveDiagram: "Diagrama. Geziek mugitzen dute, + eta - teklek zooma aldatzen dute, 0 teklak osorik erakusten du.",
  zoomIn: "Handiagotu",
  zoomOut: "Txikiagotu",
  fit: "Erakutsi osorik",
  plain: "testua",
  done: "eginda",
  todo: "egiteko",
  footnotes: "Oin-oharrak",
  footnote: (number) => `${number}. oin-oharra`,
  backToText: (number) => `Itzuli ${number}. erreferentziara`,
  backToOccurrence: (number, occurrence) => `Itzuli ${number}. erreferentziara, ${occurrence}. agerraldia`,
};
