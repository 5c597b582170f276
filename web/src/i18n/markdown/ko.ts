import type { MarkdownTexts } from "./en";

/** Korean texts for rendered answers. */
export const ko: MarkdownTexts = {
  code: (language) => `코드, ${language}`,
  copyCode: "코드 복사",
  wrap: "줄 바꿈",
  download: (name) => `${name} 파일로 다운로드`,
  preview: "미리 보기",
  previewProblem: (reason) => `이 구성 요소를 표시하지 못했습니다: ${reason}`,
  previewOf: (language) => `${language} 미리 보기`,
  showCode: "코드",
  showDiagram: "다이어그램",
  diagramImage: "다이어그램. 코드가 그 내용을 설명합니다.",
  diagramProblem: "이 다이어그램을 그리지 못했습니다.",
  diagramError: (reason) => `이 다이어그램을 그리지 못했습니다: ${reason}.`,
  plain: "텍스트",
  done: "완료",
  todo: "할 일",
  footnotes: "각주",
  footnote: (number) => `각주 ${number}`,
  backToText: (number) => `참조 ${number}(으)로 돌아가기`,
  backToOccurrence: (number, occurrence) => `참조 ${number}의 ${occurrence}번째 위치로 돌아가기`,
};
