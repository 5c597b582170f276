import { pluralsOf } from "../plurals";
import type { OrganizeTexts } from "../en/organize";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("he");

/** Return a count of chats. */
const chats = (count: number): string => plural(count, { one: "צ׳אט אחד", two: "שני צ׳אטים", other: `${count} צ׳אטים` });

/** Hebrew texts for folders, tags and the selection of chats. */
export const texts: PartialTexts<OrganizeTexts> = {
  folders: "תיקיות",
  tags: "תגיות",
  inFolder: (name, count) => `${name}, ${chats(count)}`,
  empty: "התיקייה הזו ריקה.",
  remove: "מחיקת התיקייה",
  removed: (name, parent) =>
    parent === null
      ? `התיקייה ״${name}״ נמחקה. מה שהיה בה נמצא ברשימה.`
      : `התיקייה ״${name}״ נמחקה. מה שהיה בה נמצא בתיקייה ״${parent}״.`,
  notChanged: "התיקייה לא השתנתה.",
  deleted: (name) => `מחקת את ״${name}״.`,

  newFolder: "תיקייה חדשה",
  newInside: "תיקייה חדשה בתוך התיקייה הזו",
  settings: "הגדרות התיקייה",
  place: "בתוך",
  top: "לא בתיקייה אחרת",
  systemPromptHint: "צ׳אטים חדשים בתיקייה הזו מתחילים איתה. גם תיקיות שבתוכה משתמשות בה, אלא אם יש להן הנחיה משלהן.",

  back: "חזרה לכל הצ׳אטים",
  backTo: (name) => `חזרה אל ${name}`,
  noArchived: "אין צ׳אטים בארכיון.",

  chat: {
    name: "שם הצ׳אט",
    notRenamed: "שם הצ׳אט לא השתנה.",
    rename: "שינוי שם",
    pin: "הצמדה",
    unpin: "ביטול ההצמדה",
    archive: "העברה לארכיון",
    unarchive: "הוצאה מהארכיון",
    organize: "תיקייה ותגיות…",
    select: "בחירת צ׳אטים",
    share: "שיתוף…",
    exportMarkdown: "ייצוא כ-Markdown",
    exportText: "ייצוא כטקסט פשוט",
    exportJson: "ייצוא כ-JSON",
    exportAll: "ייצוא כל הצ׳אטים",
    import: "ייבוא צ׳אטים…",
    delete: "מחיקה",
    deleteTitle: "למחוק את הצ׳אט הזה?",
    deleteText: (title) => `הצ׳אט ״${title}״ יעבור אל ״נמחקו לאחרונה״. אפשר לשחזר אותו משם.`,
    deleted: (title) => `הצ׳אט ״${title}״ נמחק.`,
    archivedNotice: (title) => `הצ׳אט ״${title}״ הועבר לארכיון.`,
    notDeleted: "הצ׳אט לא נמחק.",
    notRestored: "הצ׳אט לא שוחזר.",
  },

  share: {
    title: (title) => `שיתוף ״${title}״`,
    list: "קישורים משותפים",
    note: "כל מי שיש לו הקישור יכול לקרוא את הצ׳אט כפי שהוא עכשיו, בלי להתחבר. הודעות מאוחרות יותר, ענפים אחרים, הנחיית המערכת והמחשבות לא מוצגים.",
    leftOut: "שם תרשימים ותמונות מוטמעות מוצגים כטקסט.",
    days: "התוקף פג אחרי",
    day: (count) => plural(count, { one: "יום אחד", two: "יומיים", other: `${count} ימים` }),
    receipts: "הצגת המקום שבו כל הנחיה נשמרה במטמון",
    create: "יצירת קישור",
    link: "קישור",
    qr: "קוד QR של הקישור",
    once: "יש להעתיק את הקישור עכשיו. אי אפשר להציג אותו שוב.",
    none: "אין קישורים משותפים.",
    until: (time) => `התוקף פג: ${time}`,
    remove: (title) => `מחיקת הקישור אל ${title}`,
    delete: "מחיקה",
  },

  dialog: {
    title: (count) => (count === 1 ? "תיקייה ותגיות" : `תיקייה ותגיות של ${chats(count)}`),
    folder: "תיקייה",
    none: "ללא תיקייה",
    mixed: "להשאיר כמו שהם",
    create: "תיקייה חדשה…",
    name: "שם התיקייה",
    tags: "תגיות",
    add: "הוספת תגית",
    hint: "הקשה על Enter מוסיפה את התגית.",
    take: (tag) => `הסרת התגית ${tag}`,
  },

  filters: {
    count: (count) => (count === 0 ? "מסננים" : `מסננים: ${count}`),
    role: "נכתב על ידי",
    roles: {
      "": "כולם",
      user: "את/ה",
      assistant: "Ebb",
    },
    period: "מתי",
    periods: {
      any: "כל זמן",
      day: "היום",
      week: "7 הימים האחרונים",
      month: "30 הימים האחרונים",
      year: "12 החודשים האחרונים",
      range: "בין שני ימים…",
    },
    from: "היום הראשון",
    to: "היום האחרון",
    folder: "תיקייה",
    anyFolder: "כל תיקייה",
    tag: "תגית",
    anyTag: "כל תגית",
    archived: "ארכיון",
    archives: {
      "": "כל הצ׳אטים",
      false: "בלי צ׳אטים בארכיון",
      true: "רק צ׳אטים בארכיון",
    },
    clear: "ניקוי המסננים",
  },

  selection: {
    label: "צ׳אטים נבחרים",
    count: (count) => plural(count, { one: "נבחר אחד", two: "נבחרו שניים", other: `נבחרו ${count}` }),
    all: "בחירת הכול",
    organize: "תיקייה ותגיות…",
    archive: "העברה לארכיון",
    unarchive: "הוצאה מהארכיון",
    export: "ייצוא כ-JSON",
    delete: "מחיקה",
    done: "סיום הבחירה",
    deleteTitle: (count) => `למחוק ${chats(count)}?`,
    deleteText: "הם יעברו אל ״נמחקו לאחרונה״. אפשר לשחזר אותם משם.",
    deleted: (count) => plural(count, { one: "צ׳אט אחד נמחק.", two: "שני צ׳אטים נמחקו.", other: `${count} צ׳אטים נמחקו.` }),
    archived: (count) => plural(count, { one: "צ׳אט אחד הועבר לארכיון.", two: "שני צ׳אטים הועברו לארכיון.", other: `${count} צ׳אטים הועברו לארכיון.` }),
    unarchived: (count) => plural(count, { one: "צ׳אט אחד הוצא מהארכיון.", two: "שני צ׳אטים הוצאו מהארכיון.", other: `${count} צ׳אטים הוצאו מהארכיון.` }),
    failed: "הצ׳אטים לא השתנו.",
    notExported: "הצ׳אטים לא יוצאו.",
    progress: (done, total) => `צ׳אטים: ${done} מתוך ${total}`,
    partly: (done, total) => `שונו ${done} מתוך ${total} צ׳אטים.`,
  },
};
