import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Persian texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `کد، ${language}`,
  copyCode: "کپی کد",
  wrap: "شکستن خط‌ها",
  download: (name) => `دانلود با نام ${name}`,
  preview: "پیش‌نمایش",
  previewProblem: (reason) => `این مؤلفه نمایش داده نشد: ${reason}`,
  previewModule: (name) => `ماژول ${name} در پیش‌نمایش‌ها نیست؛ آن‌ها فقط react و react-dom دارند.`,
  previewEmpty: "مؤلفه‌ای برای نمایش وجود ندارد. یکی را به‌عنوان پیش‌فرض صادر کنید.",
  previewOf: (language) => `پیش‌نمایش ${language}`,
  showCode: "کد",
  showDiagram: "نمودار",
  diagramImage: "نمودار. کد آن را به‌صورت متن توصیف می‌کند.",
  diagramProblem: "این نمودار رسم نشد.",
  diagramError: (reason) => `این نمودار رسم نشد: ${reason}.`,
  enlarge: "بزرگ کردن",
  save: "ذخیرهٔ نمودار",
  notSaved: "مرورگر نتوانست تصویر را رسم کند. نمودار را با قالب SVG ذخیره کنید.",
  moveDiagram: "نمودار. کلیدهای جهت آن را جابه‌جا می‌کنند، + و - بزرگ‌نمایی را تغییر می‌دهند و 0 همهٔ آن را نشان می‌دهد.",
  zoomIn: "بزرگ‌نمایی",
  zoomOut: "کوچک‌نمایی",
  fit: "نمایش همه",
  plain: "متن",
  done: "انجام‌شده",
  todo: "انجام‌نشده",
  footnotes: "پانویس‌ها",
  footnote: (number) => `پانویس ${number}`,
  backToText: (number) => `بازگشت به ارجاع ${number}`,
  backToOccurrence: (number, occurrence) => `بازگشت به ارجاع ${number}، مورد ${occurrence}`,
};
