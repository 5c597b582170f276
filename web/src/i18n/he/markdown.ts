import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Hebrew texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `קוד, ${language}`,
  copyCode: "העתקת הקוד",
  wrap: "גלישת שורות",
  download: (name) => `הורדה בשם ${name}`,
  preview: "תצוגה מקדימה",
  previewProblem: (reason) => `לא ניתן להציג את הרכיב הזה: ${reason}`,
  previewModule: (name) => `המודול ${name} אינו חלק מהתצוגות המקדימות, שיש בהן רק react ו־react-dom.`,
  previewEmpty: "אין רכיב להצגה. יש לייצא רכיב כברירת מחדל.",
  previewOf: (language) => `תצוגה מקדימה של ${language}`,
  showCode: "קוד",
  showDiagram: "תרשים",
  diagramImage: "תרשים. הקוד מתאר אותו כטקסט.",
  diagramProblem: "לא ניתן לצייר את התרשים הזה.",
  diagramError: (reason) => `לא ניתן לצייר את התרשים הזה: ${reason}.`,
  enlarge: "הגדלה",
  save: "שמירת התרשים",
  notSaved: "הדפדפן לא הצליח לצייר את התמונה. אפשר לשמור את התרשים כ-SVG.",
  moveDiagram: "תרשים. מקשי החיצים מזיזים אותו, + ו - משנים את הגודל, 0 מציג את כולו.",
  zoomIn: "הגדלה",
  zoomOut: "הקטנה",
  fit: "הצגת הכול",
  plain: "טקסט",
  done: "בוצע",
  todo: "לביצוע",
  footnotes: "הערות שוליים",
  footnote: (number) => `הערת שוליים ${number}`,
  backToText: (number) => `חזרה להפניה ${number}`,
  backToOccurrence: (number, occurrence) => `חזרה להפניה ${number}, מופע ${occurrence}`,
};
