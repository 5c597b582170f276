import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Belarusian texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Код, ${language}`,
  copyCode: "Капіяваць код",
  wrap: "Пераносіць радкі",
  download: (name) => `Спампаваць як ${name}`,
  preview: "Перадпрагляд",
  previewProblem: (reason) => `Не ўдалося паказаць гэты кампанент: ${reason}`,
  previewModule: (name) => `Модуля ${name} няма ў перадпраглядах: у іх ёсць толькі react і react-dom.`,
  previewEmpty: "Няма кампанента, які можна паказаць. Экспартуйце адзін як прадвызначаны.",
  previewOf: (language) => `Перадпрагляд ${language}`,
  showCode: "Код",
  showDiagram: "Дыяграма",
  diagramImage: "Дыяграма. Код апісвае яе ў выглядзе тэксту.",
  diagramProblem: "Не ўдалося намаляваць гэту дыяграму.",
  diagramError: (reason) => `Не ўдалося намаляваць гэту дыяграму: ${reason}.`,
  enlarge: "Павялічыць",
  save: "Захаваць дыяграму",
  notSaved: "Браўзер не змог намаляваць відарыс. Захавайце дыяграму як SVG.",
  moveDiagram: "Дыяграма. Стрэлкі рухаюць яе, + і - змяняюць маштаб, 0 паказвае цалкам.",
  zoomIn: "Павялічыць",
  zoomOut: "Паменшыць",
  fit: "Паказаць цалкам",
  plain: "тэкст",
  done: "зроблена",
  todo: "не зроблена",
  footnotes: "Зноскі",
  footnote: (number) => `Зноска ${number}`,
  backToText: (number) => `Назад да спасылкі ${number}`,
  backToOccurrence: (number, occurrence) => `Назад да спасылкі ${number}, месца ${occurrence}`,
};
