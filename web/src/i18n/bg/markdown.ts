import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Bulgarian texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Код, ${language}`,
  copyCode: "Копиране на кода",
  wrap: "Пренасяне на редовете",
  download: (name) => `Изтегляне като ${name}`,
  preview: "Преглед",
  previewProblem: (reason) => `Този компонент не може да бъде показан: ${reason}`,
  previewModule: (name) => `Модулът ${name} не е част от прегледите: в тях има само react и react-dom.`,
  previewEmpty: "Няма компонент за показване. Експортирайте един като подразбиращ се.",
  previewOf: (language) => `Преглед на ${language}`,
  showCode: "Код",
  showDiagram: "Диаграма",
  diagramImage: "Диаграма. Кодът я описва като текст.",
  diagramProblem: "Тази диаграма не може да бъде начертана.",
  diagramError: (reason) => `Тази диаграма не може да бъде начертана: ${reason}.`,
  enlarge: "Увеличаване",
  save: "Запазване на диаграмата",
  notSaved: "Браузърът не успя да начертае изображението. Запазете диаграмата като SVG.",
  moveDiagram: "Диаграма. Стрелките я местят, + и - променят мащаба, 0 я показва цялата.",
  zoomIn: "Увеличаване",
  zoomOut: "Намаляване",
  fit: "Показване на цялата",
  plain: "текст",
  done: "готово",
  todo: "за изпълнение",
  footnotes: "Бележки под линия",
  footnote: (number) => `Бележка под линия ${number}`,
  backToText: (number) => `Обратно към препратка ${number}`,
  backToOccurrence: (number, occurrence) => `Обратно към препратка ${number}, място ${occurrence}`,
};
