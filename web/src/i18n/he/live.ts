import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";

const plural = pluralsOf("he");

/** States of a tier. */
const STATES: Record<TierState, string> = {
  off: "כבויה.",
  full: "מלאה: לא מקבלת כרגע בלוקים נוספים.",
  unused: "לא מגיבה כראוי, וכרגע לא בשימוש.",
  refusing: "לא מקבלת עוד בלוקים. הקריאה נמשכת.",
  slow: "איטית: בלוקים ממתינים לכתיבה.",
  other: "תקולה. הפרטים מופיעים ביומן השרת.",
};

/** Hebrew texts for the view of live numbers. */
export const texts: LiveTexts = {
  lead: "מה כל השרת עושה, שנייה אחר שנייה. התרשימים מציגים עד חמש דקות.",
  states: {
    connecting: "מתחברים…",
    live: "בזמן אמת",
    away: "השרת לא מגיב. הנתונים יתחדשו מעצמם.",
  },
  starting: "הנתונים יופיעו ברגע שהמודל יהיה מוכן.",
  refused: "אלה הנתונים של כל השרת.",
  refusedTodo: "כדי לראות אותם יש להתחבר עם מפתח ניהול.",
  generated: "נוצרו",
  prompts: "הנחיות",
  running: "פועלות",
  waiting: "ממתינות",
  batch: "גודל אצווה",
  tokensPerSecond: "טוקנים/שנ׳",
  requests: "בקשות",
  requestsUnit: "בקשות",
  blocks: "בלוקים/שנ׳",
  perStep: "לצעד",
  computed: "חושבו",
  secondsAgo: (seconds) => `\u200E−${seconds} שנ׳`,
  minutesAgo: (minutes) => `\u200E−${minutes} דק׳`,
  now: "עכשיו",
  used: (used, capacity) => `${used} מתוך ${capacity}`,
  usedOnly: (used) => `${used}, ללא מגבלה`,
  state: (_said, state) => STATES[state],
  occupancy: "תפוסה",
  hitRate: "שיעור פגיעות במטמון",
  hitRateNote: "מתוך טוקני ההנחיות שחיפשו בשכבה הזו בדקה האחרונה, החלק שנמצא בה",
  evictions: "פינויים",
  blocksPerSecond: (blocks) => `${blocks} בלוקים/שנ׳`,
  byTenant: "לפי דייר",
  others: "אחרים",
  shared: "משותף לכולם",
  in: "נכנס",
  out: "יוצא",
  traffic: (tier) => `${tier}, נכנס ויוצא`,
  breaker: "מפסק",
  breakers: {
    closed: "סגור",
    open: "פתוח: לא בשימוש",
    "half-open": "פתוח למחצה: בבדיקה",
  },
  replicas: "רפליקות",
  replica: (index) => `רפליקה ${index}`,
  replicaStates: {
    ok: "פועלת",
    starting: "מופעלת",
    failed: "נכשלה",
  },
  replicaAnswers: (count) => plural(count, { one: "תשובה אחת", two: "שתי תשובות", other: `${count} תשובות` }),
  replicaRestarts: (count) => plural(count, { one: "הפעלה אחת מחדש", two: "שתי הפעלות מחדש", other: `${count} הפעלות מחדש` }),
  routes: "בקשות שנשלחו",
  routesUnit: "לשנייה",
  predicted: "טוקן ראשון, צפוי / בפועל",
  predictedNote: "הזמן הממוצע מבחירת הרפליקה ועד הטוקן הראשון, בדקה האחרונה",
  takeovers: "תשובות שנלקחו מרפליקה אחרת",
  table: "התרשימים כטבלה",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "מדד",
    now: "עכשיו",
    mean: "ממוצע",
    most: "מרבי",
  },
};
