import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("ur");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "بند۔",
  full: "بھرا ہوا: فی الحال مزید بلاک قبول نہیں کرتا۔",
  unused: "درست جواب نہیں دے رہا، فی الحال استعمال نہیں ہو رہا۔",
  refusing: "مزید بلاک قبول نہیں کرتا۔ پڑھنا جاری ہے۔",
  slow: "سست: بلاک لکھے جانے کے منتظر ہیں۔",
  other: "خرابی ہے۔ تفصیل سرور کے لاگ میں ہے۔",
};

/** Urdu texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "پورا سرور کیا کر رہا ہے، لمحہ بہ لمحہ۔ چارٹس پانچ منٹ تک کا احوال دکھاتے ہیں۔",
  oneMemory: "یہاں ڈیوائس میموری اور CPU میموری دونوں اسی مشین کی RAM کا حصہ ہیں۔",
  states: {
    connecting: "کنیکٹ ہو رہا ہے…",
    live: "لائیو",
    away: "سرور جواب نہیں دے رہا۔ اعداد و شمار خود بخود دوبارہ شروع ہو جائیں گے۔",
  },
  starting: "ماڈل تیار ہوتے ہی اعداد و شمار نظر آئیں گے۔",
  refused: "یہ پورے سرور کے اعداد و شمار ہیں۔",
  refusedTodo: "انہیں دیکھنے کے لیے ایڈمن کلید سے لاگ اِن کریں۔",
  generated: "بنائے گئے",
  prompts: "پرامپٹس",
  running: "جاری",
  waiting: "منتظر",
  batch: "بیچ کا سائز",
  tokensPerSecond: "ٹوکن/سیکنڈ",
  requests: "درخواستیں",
  requestsUnit: "درخواستیں",
  blocks: "بلاک/سیکنڈ",
  perStep: "فی مرحلہ",
  computed: "حساب شدہ",
  secondsAgo: (seconds) => `\u200E−${seconds} سیکنڈ`,
  minutesAgo: (minutes) => `\u200E−${minutes} منٹ`,
  now: "ابھی",
  used: (used, capacity) => `${capacity} میں سے ${used}`,
  usedOnly: (used) => `${used}، کوئی حد نہیں`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "استعمال شدہ گنجائش",
  hitRate: "ہٹ ریٹ",
  hitRateNote: "پچھلے ایک منٹ میں اس درجے میں تلاش کیے گئے پرامپٹ ٹوکنز کا وہ حصہ جو یہاں موجود تھا",
  evictions: "اخراج",
  blocksPerSecond: (blocks) => `${blocks} بلاک/سیکنڈ`,
  byPerson: "بلحاظ شخص",
  others: "دیگر",
  shared: "سب کا مشترکہ",
  in: "اندر",
  out: "باہر",
  traffic: (tier) => `${tier}، اندر اور باہر`,
  connection: "کنکشن",
  connections: { closed: "کام کر رہا ہے", open: "خرابیوں کے بعد استعمال میں نہیں", "half-open": "دوبارہ آزمایا جا رہا ہے" },
  replicas: "ریپلیکاز",
  replica: (index) => `ریپلیکا ${index}`,
  replicaStates: {
    ok: "کام کر رہا ہے",
    starting: "شروع ہو رہا ہے",
    failed: "ناکام",
  },
  replicaAnswers: (count) => plural(count, { one: "1 جواب", other: `${count} جوابات` }),
  replicaRestarts: (count) => plural(count, { one: "1 بار دوبارہ شروع", other: `${count} بار دوبارہ شروع` }),
  routes: "بھیجی گئی درخواستیں",
  routesUnit: "فی سیکنڈ",
  predicted: "پہلا ٹوکن، متوقع / اصل",
  predictedNote: "ریپلیکا کے انتخاب سے پہلے ٹوکن تک اوسط وقت، پچھلے ایک منٹ میں",
  takeovers: "منتقل شدہ جوابات",
  table: "چارٹس بطور جدول",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "پیمانہ",
    now: "ابھی",
    mean: "اوسط",
    most: "زیادہ سے زیادہ",
  },
};
