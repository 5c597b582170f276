import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Lithuanian texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Kodas, ${language}`,
  copyCode: "Kopijuoti kodą",
  wrap: "Laužyti eilutes",
  download: (name) => `Atsisiųsti kaip ${name}`,
  preview: "Peržiūra",
  previewProblem: (reason) => `Šio komponento parodyti nepavyko: ${reason}`,
  previewModule: (name) => `Modulio ${name} peržiūrose nėra, jose yra tik react ir react-dom.`,
  previewEmpty: "Nėra komponento, kurį būtų galima parodyti. Eksportuokite vieną kaip numatytąjį.",
  previewOf: (language) => `Peržiūra: ${language}`,
  showCode: "Kodas",
  showDiagram: "Diagrama",
  diagramImage: "Diagrama. Kodas ją aprašo tekstu.",
  diagramProblem: "Šios diagramos nubraižyti nepavyko.",
  diagramError: (reason) => `Šios diagramos nubraižyti nepavyko: ${reason}.`,
  enlarge: "Padidinti",
  save: "Išsaugoti diagramą",
  notSaved: "Naršyklei nepavyko nubraižyti paveikslo. Išsaugokite diagramą kaip SVG.",
  moveDiagram: "Diagrama. Rodyklių klavišai ją slenka, + ir - keičia mastelį, 0 parodo visą.",
  zoomIn: "Artinti",
  zoomOut: "Tolinti",
  fit: "Rodyti visą",
  plain: "tekstas",
  done: "atlikta",
  todo: "neatlikta",
  footnotes: "Išnašos",
  footnote: (number) => `Išnaša ${number}`,
  backToText: (number) => `Grįžti prie nuorodos ${number}`,
  backToOccurrence: (number, occurrence) => `Grįžti prie nuorodos ${number}, vieta ${occurrence}`,
};
