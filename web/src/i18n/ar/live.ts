import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";

const plural = pluralsOf("ar");

/** States of a tier. */
export const STATES: Record<TierState, string> = {
  off: "متوقفة.",
  full: "ممتلئة: لا تقبل كتلًا أخرى حاليًا.",
  unused: "لا تستجيب كما ينبغي، ولا تُستخدم مؤقتًا.",
  refusing: "لا تقبل كتلًا جديدة. ما زالت القراءة تعمل.",
  slow: "بطيئة: هناك كتل تنتظر الكتابة.",
  other: "بها خلل. تجد التفاصيل في سجل الخادم.",
};

/** Arabic texts for the view of live numbers. */
export const texts: LiveTexts = {
  lead: "ما يفعله الخادم كله، ثانية بثانية. تعرض الرسوم البيانية حتى خمس دقائق.",
  oneMemory: "ذاكرة الجهاز وذاكرة CPU هنا كلتاهما جزء من ذاكرة RAM لهذا الحاسوب.",
  states: {
    connecting: "جارٍ الاتصال…",
    live: "مباشر",
    away: "الخادم لا يستجيب. ستُستأنف الأرقام تلقائيًا.",
  },
  starting: "ستظهر الأرقام حالما يصبح النموذج جاهزًا.",
  refused: "هذه أرقام الخادم كله.",
  refusedTodo: "سجّل الدخول بمفتاح مسؤول لرؤيتها.",
  generated: "مُنشأة",
  prompts: "الموجّهات",
  running: "قيد التشغيل",
  waiting: "في الانتظار",
  batch: "حجم الدفعة",
  tokensPerSecond: "توكن/ث",
  requests: "الطلبات",
  requestsUnit: "طلبات",
  blocks: "كتلة/ث",
  perStep: "لكل خطوة",
  computed: "محسوبة",
  secondsAgo: (seconds) => `\u200E−${seconds} ث`,
  minutesAgo: (minutes) => `\u200E−${minutes} د`,
  now: "الآن",
  used: (used, capacity) => `${used} من ${capacity}`,
  usedOnly: (used) => `${used}، بلا حد`,
  state: (_said, state) => STATES[state],
  occupancy: "الإشغال",
  hitRate: "معدل الإصابة",
  hitRateNote: "نسبة ما وُجد من توكنات الموجّهات التي بُحث عنها في هذه الطبقة خلال الدقيقة الأخيرة",
  evictions: "عمليات الإخراج",
  blocksPerSecond: (blocks) => `${blocks} كتلة/ث`,
  byPerson: "حسب الشخص",
  others: "آخرون",
  shared: "مشتركة بين الجميع",
  in: "الوارد",
  out: "الصادر",
  traffic: (tier) => `${tier}، الوارد والصادر`,
  connection: "الاتصال",
  connections: { closed: "يعمل", open: "متوقف مؤقتًا بعد أخطاء", "half-open": "تُعاد تجربته" },
  replicas: "النسخ المتماثلة",
  replica: (index) => `النسخة المتماثلة ${index}`,
  replicaStates: {
    ok: "تعمل",
    starting: "يبدأ تشغيلها",
    failed: "تعطّلت",
  },
  replicaAnswers: (count) =>
    plural(count, { zero: `${count} إجابة`, one: "إجابة واحدة", two: "إجابتان", few: `${count} إجابات`, many: `${count} إجابة`, other: `${count} إجابة` }),
  replicaRestarts: (count) =>
    plural(count, {
      zero: `${count} إعادة تشغيل`,
      one: "إعادة تشغيل واحدة",
      two: "إعادتا تشغيل",
      few: `${count} إعادات تشغيل`,
      many: `${count} إعادة تشغيل`,
      other: `${count} إعادة تشغيل`,
    }),
  routes: "الطلبات المُرسلة",
  routesUnit: "في الثانية",
  predicted: "أول توكن، المتوقع / الفعلي",
  predictedNote: "متوسط الوقت من اختيار النسخة المتماثلة إلى أول توكن، خلال الدقيقة الأخيرة",
  takeovers: "الإجابات المستلَمة من نسخ أخرى",
  table: "الرسوم البيانية كجدول",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "المقياس",
    now: "الآن",
    mean: "المتوسط",
    most: "الحد الأقصى",
  },
};
