import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("ur");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "آخری ٹوکن کے سوا سب کچھ دوبارہ استعمال ہوا۔ آخری ٹوکن کا حساب ہمیشہ کیا جاتا ہے۔",
  never_seen: "سرور کے علم کے مطابق باقی حصے کا حساب پہلے کبھی نہیں ہوا۔",
  template_changed: "سسٹم پرامپٹ، چیٹ ٹیمپلیٹ یا ٹوکنائزر پچھلی بار سے مختلف ہے۔",
  messages_left_out: "اس پیغام سے پرامپٹ میں چیٹ کے پہلے پیغامات شامل نہیں رہے، یا دوبارہ شامل ہو گئے ہیں۔",
  evicted: "باقی حصے کا حساب ہو چکا تھا، لیکن اسے کیش سے نکال دیا گیا۔",
  expired: "باقی حصے کا حساب ہو چکا تھا، لیکن وہ بہت دیر استعمال نہیں ہوا اور اس کی میعاد ختم ہو گئی۔",
  computed_otherwise: "باقی حصے کا حساب ہو چکا تھا، لیکن Ebb کے کسی اور ورژن، کسی اور ماڈل یا کسی اور طریقے سے۔",
  rejected: "باقی حصے کا حساب ہو چکا تھا، لیکن اس کا ڈیٹا خراب ہے، کسی اور ماڈل کا ہے، یا اس سرور کی کلید سے نہیں لکھا گیا۔",
  breaker_open: "باقی حصے کا حساب ہو چکا تھا، لیکن کیش کا ایک درجہ جواب نہیں دے رہا اور فی الحال استعمال نہیں ہو رہا۔",
  not_worth_loading: "باقی حصے کا حساب ہو چکا تھا، لیکن دوبارہ حساب کرنا غالباً زیادہ تیز ہے۔",
  not_brought: "باقی حصے کا حساب ہو چکا تھا، لیکن لوڈ نہیں ہو سکا: CPU میموری میں جگہ نہیں تھی، یا ڈیوائس پر کاپی ناکام رہی۔",
  partial_block: "باقی حصے کا حساب ہو چکا تھا، لیکن اس سے پورا بلاک نہیں بھرتا۔ صرف پورے بلاک یقینی طور پر رکھے جاتے ہیں۔",
  off: "سرور \u2066--no-prefix-cache\u2069 کے ساتھ چل رہا ہے اور کچھ دوبارہ استعمال نہیں کرتا۔",
};

/** Urdu texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `${tokens} کا حساب کیا گیا`,
  first: (tokens, total, from) => `${total} میں سے ${tokens} ٹوکنز، ${from} سے`,
  other: (tokens, from) => `${tokens}، ${from} سے`,
  firstToken: (time) => `پہلا ٹوکن ${time} بعد`,
  insteadOf: (time) => `، تقریباً ${time} کے بجائے`,
  speed: (tokens) => `${tokens} ٹوکن/سیکنڈ`,
  prompt: "پرامپٹ",
  recomputed: "حساب شدہ",
  typed: (from) => `ٹائپنگ کے دوران ${from} سے بحال`,
  phases: {
    queue: "قطار میں",
    lookup: "کیش میں تلاش",
    load: "کیش کے بلاک لوڈ کیے",
    prefill: "حساب",
  },
  timeToFirstToken: "پہلے ٹوکن تک وقت",
  answer: "جواب",
  form: "مطلوبہ شکل",
  forms: { valid: "درست", invalid: "درست نہیں", unchecked: "جانچی نہیں گئی" },
  rate: "رفتار",
  total: "کل",
  cost: "لاگت",
  why: "اس سے زیادہ دوبارہ استعمال کیوں نہیں ہوا؟",
  looking: "وضاحت لوڈ ہو رہی ہے…",
  failed: "وضاحت لوڈ نہیں ہو سکی۔",
  reusedAll: (until) => `کیش کے تمام ${until} ٹوکنز دوبارہ استعمال ہوئے؛ باقی نیا ہے۔`,
  reused: (until, reusable) => `کیش کے ${reusable} میں سے ${until} ٹوکنز دوبارہ استعمال ہوئے۔`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "ایڈوانسڈ",
  leftOut: "چھوڑے گئے پیغامات",
  diverges: (at) => `ٹوکن ${at} سے یہ پرامپٹ مختلف ہے:`,
  goesOn: (at) => `ٹوکن ${at} تک سب کچھ کیش میں تھا۔ پھر یہ آیا:`,
  here: "یہاں",
  before: "پہلے",
  end: "(اختتام)",
  verified: (count, text) => plural(count, { one: "نچلے درجے کے ایک بلاک کی تصدیق ہوئی۔", other: `نچلے درجوں کے ${text} بلاک کی تصدیق ہوئی۔` }),
  removedLines: (names) => `سسٹم پرامپٹ کو یکساں رکھنے کے لیے چھوڑا گیا: ${names}`,
  movedLines: (names) => `سسٹم پرامپٹ کو یکساں رکھنے کے لیے پہلے پیغام میں منتقل کیا گیا: ${names}`,

  promptLines: {
    "claude-code-billing-header": "Claude Code کا بلنگ ہیڈر",
    "claude-code-git-status": "Claude Code کا Git اسٹیٹس",
    "todays-date": "آج کی تاریخ",
    "current-date": "موجودہ تاریخ",
    "current-date-and-time": "موجودہ تاریخ اور وقت",
    "goose-date": "goose کی تاریخ",
    "kimi-cli-date": "Kimi CLI کی تاریخ",
    "home-assistant-clock": "Home Assistant کی گھڑی",
    "session-id": "سیشن کی شناخت",
    "removed-lines": "ترتیب removed-lines کی سطریں",
    "moved-lines": "ترتیب moved-lines کی سطریں",
  },
};
