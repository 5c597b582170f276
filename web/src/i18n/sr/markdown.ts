import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Serbian texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Кôд, ${language}`,
  copyCode: "Копирај кôд",
  wrap: "Преломи редове",
  download: (name) => `Преузми као ${name}`,
  preview: "Преглед",
  previewProblem: (reason) => `Ова компонента није могла да се прикаже: ${reason}`,
  previewModule: (name) => `Модул ${name} није део прегледа, који имају само react и react-dom.`,
  previewEmpty: "Нема компоненте за приказ. Извези једну као подразумевану.",
  previewOf: (language) => `Преглед: ${language}`,
  showCode: "Кôд",
  showDiagram: "Дијаграм",
  diagramImage: "Дијаграм. Кôд га описује као текст.",
  diagramProblem: "Овај дијаграм није могао да се нацрта.",
  diagramError: (reason) => `Овај дијаграм није могао да се нацрта: ${reason}.`,
  enlarge: "Увећај",
  save: "Сачувај дијаграм",
  notSaved: "Прегледач није могао да нацрта слику. Сачувајте дијаграм као SVG.",
  moveDiagram: "Дијаграм. Стрелице га померају, + и - мењају увећање, 0 га приказује целог.",
  zoomIn: "Увећај",
  zoomOut: "Умањи",
  fit: "Прикажи цео",
  plain: "текст",
  done: "урађено",
  todo: "није урађено",
  footnotes: "Фусноте",
  footnote: (number) => `Фуснота ${number}`,
  backToText: (number) => `Назад на референцу ${number}`,
  backToOccurrence: (number, occurrence) => `Назад на референцу ${number}, појављивање ${occurrence}`,
};
