import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Swahili texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Msimbo, ${language}`,
  copyCode: "Nakili msimbo",
  wrap: "Kunja mistari",
  download: (name) => `Pakua kama ${name}`,
  preview: "Onyesho la kukagua",
  previewProblem: (reason) => `Kijenzi hiki hakikuweza kuonyeshwa: ${reason}`,
  previewModule: (name) => `Moduli ${name} si sehemu ya maonyesho ya kukagua, ambayo yana react na react-dom pekee.`,
  previewEmpty: "Hakuna kijenzi cha kuonyesha. Hamisha kimoja kama chaguo-msingi.",
  previewOf: (language) => `Onyesho la kukagua la ${language}`,
  showCode: "Msimbo",
  showDiagram: "Mchoro",
  diagramImage: "Mchoro. Msimbo unaueleza kwa maandishi.",
  diagramProblem: "Mchoro huu haukuweza kuchorwa.",
  diagramError: (reason) => `Mchoro huu haukuweza kuchorwa: ${reason}.`,
  enlarge: "Panua",
  save: "Hifadhi mchoro",
  notSaved: "Kivinjari hakikuweza kuchora picha. Hifadhi mchoro kama SVG.",
  moveDiagram: "Mchoro. Vitufe vya mishale huusogeza, + na - hukuza na kupunguza, 0 huonyesha wote.",
  zoomIn: "Vuta karibu",
  zoomOut: "Sogeza mbali",
  fit: "Onyesha wote",
  plain: "maandishi",
  done: "imefanyika",
  todo: "ya kufanya",
  footnotes: "Tanbihi",
  footnote: (number) => `Tanbihi ya ${number}`,
  backToText: (number) => `Rudi kwenye marejeleo ya ${number}`,
  backToOccurrence: (number, occurrence) => `Rudi kwenye marejeleo ya ${number}, tokeo la ${occurrence}`,
};
