import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("he");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "נעשה שימוש חוזר בכול חוץ מהטוקן האחרון. הטוקן האחרון תמיד מחושב.",
  never_seen: "למיטב ידיעת השרת, השאר עוד לא חושב.",
  template_changed: "הנחיית המערכת, תבנית הצ׳אט או ה-tokenizer שונים מהפעם הקודמת.",
  messages_left_out: "מההודעה הזו ההנחיה כבר לא כוללת את ההודעות הראשונות של הצ׳אט, או שוב כוללת אותן.",
  evicted: "השאר חושב, אבל פונה מהמטמון.",
  expired: "השאר חושב, אבל לא היה בשימוש זמן רב מדי ותוקפו פג.",
  computed_otherwise: "השאר חושב, אבל בגרסה אחרת של Ebb, במודל אחר או בשיטת חישוב אחרת.",
  rejected: "השאר חושב, אבל הנתונים שלו פגומים, שייכים למודל אחר או לא נכתבו עם המפתח של השרת הזה.",
  breaker_open: "השאר חושב, אבל אחת משכבות המטמון לא מגיבה ומדלגים עליה זמנית.",
  not_worth_loading: "השאר חושב, אבל כנראה מהיר יותר לחשב אותו שוב.",
  not_brought: "השאר חושב, אבל לא ניתן היה לטעון אותו: לא היה מקום בזיכרון ה-CPU, או שההעתקה להתקן נכשלה.",
  partial_block: "השאר חושב, אבל לא ממלא בלוק שלם. רק בלוקים שלמים נשמרים בוודאות.",
  off: "השרת פועל עם \u2066--no-prefix-cache\u2069 ולא עושה שימוש חוזר בדבר.",
};

/** Hebrew texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `חושבו ${tokens}`,
  first: (tokens, total, from) => `${tokens} מתוך ${total} טוקנים ${from}`,
  other: (tokens, from) => `${tokens} ${from}`,
  firstToken: (time) => `טוקן ראשון אחרי ${time}`,
  insteadOf: (time) => ` במקום בערך ${time}`,
  speed: (tokens) => `${tokens} טוקנים/שנ׳`,
  prompt: "הנחיה",
  recomputed: "חושבו",
  typed: (from) => `שוחזרו ${from} בזמן ההקלדה`,
  phases: {
    queue: "המתנה בתור",
    lookup: "חיפוש במטמון",
    load: "טעינת בלוקים מהמטמון",
    prefill: "חישוב",
  },
  timeToFirstToken: "זמן עד הטוקן הראשון",
  answer: "תשובה",
  form: "המבנה הנדרש",
  forms: { valid: "נשמר", invalid: "לא נשמר", unchecked: "לא נבדק" },
  rate: "מהירות",
  total: "סך הכול",
  cost: "עלות",
  why: "למה לא נעשה שימוש חוזר ביותר טוקנים?",
  looking: "ההסבר נטען…",
  failed: "לא ניתן לטעון את ההסבר.",
  reusedAll: (until) => `נעשה שימוש חוזר בכל ${until} הטוקנים שבמטמון. השאר חדש.`,
  reused: (until, reusable) => `נעשה שימוש חוזר ב-${until} מתוך ${reusable} הטוקנים שבמטמון.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "מתקדם",
  leftOut: "הודעות שהושמטו",
  diverges: (at) => `מהטוקן ${at} ההנחיה הזו שונה:`,
  goesOn: (at) => `הכול עד הטוקן ${at} היה במטמון. אחר כך בא:`,
  here: "כאן",
  before: "קודם",
  end: "(סוף)",
  verified: (count, text) =>
    plural(count, { one: "בלוק אחד משכבה נמוכה יותר אומת.", two: "שני בלוקים משכבות נמוכות יותר אומתו.", other: `${text} בלוקים משכבות נמוכות יותר אומתו.` }),
  removedLines: (names) => `הושמטו כדי שהנחיית המערכת לא תשתנה: ${names}`,
  movedLines: (names) => `הועברו להודעה הראשונה כדי שהנחיית המערכת לא תשתנה: ${names}`,

  promptLines: {
    "claude-code-billing-header": "כותרת החיוב של Claude Code",
    "claude-code-git-status": "מצב Git של Claude Code",
    "todays-date": "התאריך של היום",
    "current-date": "התאריך הנוכחי",
    "current-date-and-time": "התאריך והשעה הנוכחיים",
    "goose-date": "התאריך של goose",
    "kimi-cli-date": "התאריך של Kimi CLI",
    "home-assistant-clock": "השעון של Home Assistant",
    "session-id": "מזהה ההפעלה",
    "removed-lines": "שורות של ההגדרה removed-lines",
    "moved-lines": "שורות של ההגדרה moved-lines",
  },
};
