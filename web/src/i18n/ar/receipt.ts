import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";

const plural = pluralsOf("ar");

/** Reasons for which no more was reused. */
export const CAUSES: Causes = {
  complete: "أُعيد استخدام كل شيء عدا التوكن الأخير، فهو يُحسب دائمًا.",
  never_seen: "حسب ما يعرفه الخادم، لم يُحسب الباقي من قبل.",
  template_changed: "يختلف موجّه النظام أو قالب الدردشة أو المُرمِّز (tokenizer) عن المرة السابقة.",
  messages_left_out: "منذ هذه الرسالة لم يعد الموجّه يحتوي على أولى رسائل الدردشة، أو عاد يحتويها.",
  evicted: "كان الباقي محسوبًا، لكنه أُخرج من التخزين المؤقت.",
  expired: "كان الباقي محسوبًا، لكنه لم يُستخدم مدة طويلة فانتهت صلاحيته.",
  computed_otherwise: "كان الباقي محسوبًا، لكن بإصدار آخر من Ebb، أو بنموذج آخر، أو بطريقة حساب أخرى.",
  rejected: "كان الباقي محسوبًا، لكن بياناته تالفة، أو تخص نموذجًا آخر، أو لم تُكتب بمفتاح هذا الخادم.",
  breaker_open: "كان الباقي محسوبًا، لكن إحدى طبقات التخزين المؤقت لا تستجيب ويجري تجاوزها مؤقتًا.",
  not_worth_loading: "كان الباقي محسوبًا، لكن حسابه من جديد أسرع على الأرجح.",
  not_brought: "كان الباقي محسوبًا، لكن تعذّر تحميله: لم تكن هناك مساحة في ذاكرة CPU، أو فشل النسخ إلى الجهاز.",
  partial_block: "كان الباقي محسوبًا، لكنه لا يملأ كتلة كاملة. الكتل الكاملة وحدها يُضمن حفظها.",
  off: "يعمل الخادم بالخيار \u2066--no-prefix-cache\u2069 ولا يعيد استخدام شيء.",
};

/** Arabic texts for the details of a receipt. */
export const texts: ReceiptTexts = {
  computed: (tokens) => `تم حساب ${tokens}`,
  first: (tokens, total, from) => `${tokens} من أصل ${total} توكن من ${from}`,
  other: (tokens, from) => `${tokens} من ${from}`,
  firstToken: (time) => `أول توكن بعد ${time}`,
  insteadOf: (time) => ` بدلًا من نحو ${time}`,
  speed: (tokens) => `${tokens} توكن/ث`,
  prompt: "الموجّه",
  recomputed: "محسوب",
  typed: (from) => `مستعاد من ${from} أثناء الكتابة`,
  phases: {
    queue: "الانتظار",
    lookup: "البحث في التخزين المؤقت",
    load: "تحميل الكتل المخزّنة",
    prefill: "الحساب",
  },
  timeToFirstToken: "الوقت حتى أول توكن",
  answer: "الإجابة",
  form: "الصيغة المطلوبة",
  forms: { valid: "مطابقة", invalid: "غير مطابقة", unchecked: "لم تُفحص" },
  promise: "محفوظ على القرص",
  promised: (tokens, time) => `${tokens} حتى ${time}`,
  notPromised: (tokens) => `${tokens} غير محفوظ`,
  rate: "السرعة",
  total: "الإجمالي",
  cost: "التكلفة",
  why: "لماذا لم يُعَد استخدام المزيد؟",
  looking: "جارٍ تحميل التوضيح…",
  failed: "تعذّر تحميل التوضيح.",
  reusedAll: (until) => `أُعيد استخدام كل التوكنات المخزّنة (${until})، والباقي جديد.`,
  reused: (until, reusable) => `أُعيد استخدام ${until} من ${reusable} توكن مخزّن.`,
  cause: (_said, cause) => CAUSES[cause] ?? "تجد السبب في سجل الخادم.",
  advanced: "متقدم",
  leftOut: "الرسائل المستبعدة",
  diverges: (at) => `يختلف هذا الموجّه بدءًا من التوكن ${at}:`,
  goesOn: (at) => `كل شيء حتى التوكن ${at} كان في التخزين المؤقت. ثم جاء:`,
  here: "هنا",
  before: "سابقًا",
  end: "(النهاية)",
  verified: (count, text) =>
    plural(count, {
      zero: `تم التحقق من ${text} كتلة من طبقات أدنى.`,
      one: "تم التحقق من كتلة واحدة من طبقة أدنى.",
      two: "تم التحقق من كتلتين من طبقات أدنى.",
      few: `تم التحقق من ${text} كتل من طبقات أدنى.`,
      many: `تم التحقق من ${text} كتلة من طبقات أدنى.`,
      other: `تم التحقق من ${text} كتلة من طبقات أدنى.`,
    }),
  removedLines: (names) => `استُبعد ليبقى موجّه النظام ثابتًا: ${names}`,
  movedLines: (names) => `نُقل إلى الرسالة الأولى ليبقى موجّه النظام ثابتًا: ${names}`,

  promptLines: {
    "claude-code-billing-header": "ترويسة الفوترة من Claude Code",
    "claude-code-git-status": "حالة Git من Claude Code",
    "todays-date": "تاريخ اليوم",
    "current-date": "التاريخ الحالي",
    "current-date-and-time": "التاريخ والوقت الحاليان",
    "goose-date": "تاريخ goose",
    "kimi-cli-date": "تاريخ Kimi CLI",
    "home-assistant-clock": "ساعة Home Assistant",
    "session-id": "معرّف الجلسة",
    "removed-lines": "أسطر الإعداد removed-lines",
    "moved-lines": "أسطر الإعداد moved-lines",
  },
};
