import type { MarkdownTexts } from "./en";

/** Texts of rendered answers in Chinese. */
export const zh: MarkdownTexts = {
  code: (language) => `代码，${language}`,
  copyCode: "复制代码",
  wrap: "自动换行",
  download: (name) => `下载为 ${name}`,
  preview: "预览",
  previewProblem: (reason) => `无法显示此组件：${reason}`,
  previewOf: (language) => `${language.toUpperCase()} 预览`,
  showCode: "代码",
  showDiagram: "图表",
  diagramImage: "图表，其内容见代码。",
  diagramProblem: (reason) => `无法绘制此图表${reason === "" ? "。" : `：${reason.replace(/[:.]$/, "")}。`}`,
  enlarge: "放大图表",
  save: "保存图表",
  notSaved: "浏览器无法生成图片，请保存为 SVG。",
  moveDiagram: "图表。方向键移动，+ 和 - 缩放，0 显示全图。",
  zoomIn: "放大",
  zoomOut: "缩小",
  fit: "显示全图",
  plain: "文本",
  done: "已完成",
  todo: "未完成",
  footnotes: "脚注",
  footnote: (number) => `脚注 ${number}`,
  backToText: (number, occurrence) => (occurrence === 1 ? `返回引用 ${number}` : `返回引用 ${number} 的第 ${occurrence} 处`),
};
