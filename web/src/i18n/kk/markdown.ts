import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Kazakh texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Код, ${language}`,
  copyCode: "Кодты көшіру",
  wrap: "Жолдарды тасымалдау",
  download: (name) => `${name} ретінде жүктеп алу`,
  preview: "Алдын ала қарау",
  previewProblem: (reason) => `Бұл компонент көрсетілмеді: ${reason}`,
  previewModule: (name) => `${name} модулі алдын ала қарауларда жоқ: оларда тек react пен react-dom бар.`,
  previewEmpty: "Көрсететін компонент жоқ. Біреуін әдепкі ретінде экспорттаңыз.",
  previewOf: (language) => `Алдын ала қарау: ${language}`,
  showCode: "Код",
  showDiagram: "Диаграмма",
  diagramImage: "Диаграмма. Код оны мәтінмен сипаттайды.",
  diagramProblem: "Бұл диаграмманы салу мүмкін болмады.",
  diagramError: (reason) => `Бұл диаграмманы салу мүмкін болмады: ${reason}.`,
  enlarge: "Үлкейту",
  save: "Диаграмманы сақтау",
  notSaved: "Браузер суретті сала алмады. Диаграмманы SVG ретінде сақтаңыз.",
  moveDiagram: "Диаграмма. Көрсеткі пернелер оны жылжытады, + және - масштабты өзгертеді, 0 толық көрсетеді.",
  zoomIn: "Үлкейту",
  zoomOut: "Кішірейту",
  fit: "Толық көрсету",
  plain: "мәтін",
  done: "орындалды",
  todo: "орындалмаған",
  footnotes: "Ескертпелер",
  footnote: (number) => `${number}-ескертпе`,
  backToText: (number) => `${number}-сілтемеге оралу`,
  backToOccurrence: (number, occurrence) => `${number}-сілтемеге оралу, ${occurrence}-орын`,
};
