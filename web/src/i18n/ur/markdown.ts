import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Urdu texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `کوڈ، ${language}`,
  copyCode: "کوڈ کاپی کریں",
  wrap: "سطریں موڑیں",
  download: (name) => `${name} کے نام سے ڈاؤن لوڈ کریں`,
  preview: "پیش منظر",
  previewProblem: (reason) => `یہ جزو نہیں دکھایا جا سکا: ${reason}`,
  previewModule: (name) => `ماڈیول ${name} پیش منظر میں شامل نہیں، ان میں صرف react اور react-dom ہیں۔`,
  previewEmpty: "دکھانے کے لیے کوئی جزو نہیں۔ کسی ایک کو ڈیفالٹ کے طور پر ایکسپورٹ کریں۔",
  previewOf: (language) => `${language} کا پیش منظر`,
  showCode: "کوڈ",
  showDiagram: "خاکہ",
  diagramImage: "خاکہ۔ کوڈ اسے متن میں بیان کرتا ہے۔",
  diagramProblem: "یہ خاکہ نہیں بنایا جا سکا۔",
  diagramError: (reason) => `یہ خاکہ نہیں بنایا جا سکا: ${reason}۔`,
  enlarge: "بڑا کریں",
  save: "خاکہ محفوظ کریں",
  notSaved: "براؤزر تصویر نہیں بنا سکا۔ خاکے کو SVG کے طور پر محفوظ کریں۔",
  moveDiagram: "خاکہ۔ تیر والی کلیدیں اسے حرکت دیتی ہیں، + اور - زوم کرتی ہیں، 0 پورا خاکہ دکھاتی ہے۔",
  zoomIn: "زوم اِن",
  zoomOut: "زوم آؤٹ",
  fit: "پورا دکھائیں",
  plain: "متن",
  done: "مکمل",
  todo: "باقی",
  footnotes: "حاشیے",
  footnote: (number) => `حاشیہ ${number}`,
  backToText: (number) => `حوالہ ${number} پر واپس جائیں`,
  backToOccurrence: (number, occurrence) => `حوالہ ${number}، مقام ${occurrence} پر واپس جائیں`,
};
