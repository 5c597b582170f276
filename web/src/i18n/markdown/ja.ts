import type { MarkdownTexts } from "./en";

/** Japanese texts for rendered answers. */
export const ja: MarkdownTexts = {
  code: (language) => `コード、${language}`,
  copyCode: "コードをコピー",
  wrap: "行を折り返す",
  download: (name) => `${name} としてダウンロード`,
  preview: "プレビュー",
  previewProblem: (reason) => `このコンポーネントを表示できませんでした：${reason}`,
  previewOf: (language) => `${language} のプレビュー`,
  showCode: "コード",
  showDiagram: "図",
  diagramImage: "図。コードがその内容を表しています。",
  diagramProblem: "この図を描画できませんでした。",
  diagramError: (reason) => `この図を描画できませんでした：${reason}。`,
  plain: "テキスト",
  done: "完了",
  todo: "未完了",
  footnotes: "脚注",
  footnote: (number) => `脚注 ${number}`,
  backToText: (number) => `参照 ${number} に戻る`,
  backToOccurrence: (number, occurrence) => `参照 ${number} の ${occurrence} か所目に戻る`,
};
