import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Macedonian texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Код, ${language}`,
  copyCode: "Копирај го кодот",
  wrap: "Преломи ги редовите",
  download: (name) => `Преземи како ${name}`,
  preview: "Преглед",
  previewProblem: (reason) => `Оваа компонента не можеше да се прикаже: ${reason}`,
  previewModule: (name) => `Модулот ${name} не е дел од прегледите: тие имаат само react и react-dom.`,
  previewEmpty: "Нема компонента за прикажување. Извези една како стандардна.",
  previewOf: (language) => `Преглед на ${language}`,
  showCode: "Код",
  showDiagram: "Дијаграм",
  diagramImage: "Дијаграм. Кодот го опишува како текст.",
  diagramProblem: "Овој дијаграм не можеше да се нацрта.",
  diagramError: (reason) => `Овој дијаграм не можеше да се нацрта: ${reason}.`,
  enlarge: "Зголеми",
  save: "Зачувај го дијаграмот",
  notSaved: "Прелистувачот не можеше да ја нацрта сликата. Зачувајте го дијаграмот како SVG.",
  moveDiagram: "Дијаграм. Стрелките го поместуваат, + и - го менуваат зумот, 0 го прикажува целиот.",
  zoomIn: "Зголеми",
  zoomOut: "Намали",
  fit: "Прикажи го целиот",
  plain: "текст",
  done: "завршено",
  todo: "незавршено",
  footnotes: "Фусноти",
  footnote: (number) => `Фуснота ${number}`,
  backToText: (number) => `Назад кон референца ${number}`,
  backToOccurrence: (number, occurrence) => `Назад кон референца ${number}, појавување ${occurrence}`,
};
