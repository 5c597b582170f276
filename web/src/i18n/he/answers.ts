import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("he");

/** Hebrew texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "התשובה הערוכה",
    note: "ההודעה הבאה תמשיך מהטקסט שלך. המקור נשמר כגרסה.",
  },

  rating: {
    field: "מה לא היה בסדר?",
    note: "לא חובה. המשוב שלך נשמר עם התשובה.",
  },

  compare: {
    title: "השוואת תשובות",
    note: "כל התשובות נכתבות בו-זמנית. גם תשובות עם אותן הגדרות עשויות להיות שונות, אלא אם נקבע seed.",
    kept: "כל תשובה נשארת בצ׳אט כגרסה.",
    column: (index) => `תשובה ${index}`,
    temperature: (value) => `טמפרטורה ${value}`,
    topP: (value) => `Top p: ${value}`,
    seed: (value) => `Seed: ${value}`,
    add: "הוספת תשובה",
    remove: (index) => `הסרת תשובה ${index}`,
    start: "השוואה",
    keep: "להשאיר את זו",
    merge: "מיזוג לתשובה אחת",
    stop: (index) => `עצירת תשובה ${index}`,
    stopAll: "עצירת כולן",
  },

  prompts: {
    title: "הנחיות שמורות",
    search: "חיפוש הנחיה",
    none: "לא נמצאו הנחיות.",
    empty: "אין עדיין הנחיות שמורות. אפשר לשמור טקסט שפותח לעיתים קרובות את ההודעות שלך, והקלדת ״/״ בהודעה ריקה תציג אותו כאן.",
    add: "הנחיה חדשה",
    edit: (name) => `עריכת ״${name}״`,
    name: "שם ההנחיה",
    text: "טקסט",
    placeholders: "מצייני מיקום בסוגריים מסולסלים כפולים, כמו {{עיר}}, מסומנים עבורך למילוי.",
    remove: "מחיקת ההנחיה",
  },

  files: {
    search: "חיפוש קובץ",
    none: "לא נמצאו קבצים. כדי לשמור קובץ, יש ללחוץ על הסימנייה שעליו בעת הצירוף.",
    size: (characters) => `${characters} תווים`,
    remove: (name) => `מחיקת ${name}`,
    delete: "מחיקה",
    confirm: "למחוק את הקובץ הזה מהקבצים שלך? צ׳אטים שמכילים אותו יישארו כמו שהם.",
  },

  find: {
    title: "חיפוש בשיחה הזו",
    next: "ההתאמה הבאה",
    previous: "ההתאמה הקודמת",
    at: (at, total) => `${at} מתוך ${total}`,
    none: "לא נמצא",
  },

  queue: {
    title: "הודעה בתור",
    waiting: "בתור. תישלח כשהתשובה תושלם.",
    now: "שליחה עכשיו",
    nowTitle: "עוצר את התשובה ושומר את הטקסט שלה",
    held: "עדיין לא נשלחה: התשובה נעצרה, או הסתיימה כשלא היית כאן.",
    files: (count) => plural(count, { one: "קובץ אחד", two: "שני קבצים", other: `${count} קבצים` }),
  },

  reading: {
    progress: (done, total) => `קריאת הצ׳אט: ${done} מתוך ${total} טוקנים`,
    left: (time) => `נותרו בערך ${time}`,
  },

  regenerate: {
    title: "יצירה מחדש עם הגדרות אחרות",
    note: "ההגדרות האלה חלות רק על התשובה הזו. שדה דגימה ריק משתמש בהגדרה של הצ׳אט, ואם הנחיית המערכת ריקה, התשובה נכתבת בלעדיה.",
    start: "יצירה מחדש",
  },
};
