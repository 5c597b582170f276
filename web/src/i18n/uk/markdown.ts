import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Ukrainian texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Код, ${language}`,
  copyCode: "Копіювати код",
  wrap: "Переносити рядки",
  download: (name) => `Завантажити як ${name}`,
  preview: "Попередній перегляд",
  previewProblem: (reason) => `Не вдалося показати цей компонент: ${reason}`,
  previewModule: (name) => `Модуля ${name} у попередніх переглядах немає: у них є лише react і react-dom.`,
  previewEmpty: "Немає компонента, який можна показати. Експортуйте один як типовий.",
  previewOf: (language) => `Попередній перегляд ${language}`,
  showCode: "Код",
  showDiagram: "Діаграма",
  diagramImage: "Діаграма. Код описує її у вигляді тексту.",
  diagramProblem: "Не вдалося намалювати цю діаграму.",
  diagramError: (reason) => `Не вдалося намалювати цю діаграму: ${reason}.`,
  enlarge: "Збільшити",
  save: "Зберегти діаграму",
  notSaved: "Браузер не зміг намалювати зображення. Збережіть діаграму як SVG.",
  moveDiagram: "Діаграма. Стрілки рухають її, + і - змінюють масштаб, 0 показує повністю.",
  zoomIn: "Збільшити",
  zoomOut: "Зменшити",
  fit: "Показати повністю",
  plain: "текст",
  done: "виконано",
  todo: "не виконано",
  footnotes: "Виноски",
  footnote: (number) => `Виноска ${number}`,
  backToText: (number) => `Назад до посилання ${number}`,
  backToOccurrence: (number, occurrence) => `Назад до посилання ${number}, місце ${occurrence}`,
};
