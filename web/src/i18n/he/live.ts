import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("he");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "כבויה.",
  full: "מלאה: לא מקבלת כרגע בלוקים נוספים.",
  unused: "לא מגיבה כראוי, וכרגע לא בשימוש.",
  refusing: "לא מקבלת עוד בלוקים. הקריאה נמשכת.",
  slow: "איטית: בלוקים ממתינים לכתיבה.",
  other: "תקולה. הפרטים מופיעים ביומן השרת.",
};

/** Hebrew texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "מה כל השרת עושה, שנייה אחר שנייה. התרשימים מציגים עד חמש דקות.",
  oneMemory: "כאן זיכרון ההתקן וזיכרון ה-CPU הם שניהם חלק מה-RAM של המחשב.",
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
  state: (said, state) => STATES[state] ?? said,
  occupancy: "תפוסה",
  hitRate: "שיעור פגיעות במטמון",
  hitRateNote: "מתוך טוקני ההנחיות שחיפשו בשכבה הזו בדקה האחרונה, החלק שנמצא בה",
  evictions: "פינויים",
  blocksPerSecond: (blocks) => `${blocks} בלוקים/שנ׳`,
  byPerson: "לפי אדם",
  others: "אחרים",
  shared: "משותף לכולם",
  in: "נכנס",
  out: "יוצא",
  traffic: (tier) => `${tier}, נכנס ויוצא`,
  connection: "חיבור",
  connections: { closed: "פועל", open: "לא בשימוש אחרי שגיאות", "half-open": "בבדיקה מחדש" },
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
