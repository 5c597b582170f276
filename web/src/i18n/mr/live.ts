import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("mr");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "बंद आहे.",
  full: "भरले आहे: सध्या आणखी ब्लॉक घेत नाही.",
  unused: "नीट प्रतिसाद देत नाही, त्यामुळे तात्पुरते वापरात नाही.",
  refusing: "नवीन ब्लॉक घेत नाही. वाचणे सुरू आहे.",
  slow: "हळू आहे: ब्लॉक लिहिले जाण्याची वाट पाहत आहेत.",
  other: "समस्या आहे. तपशील सर्व्हरच्या लॉगमध्ये आहे.",
};

/** Marathi texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "संपूर्ण सर्व्हर प्रत्येक सेकंदाला काय करत आहे. चार्ट जास्तीत जास्त पाच मिनिटे दाखवतात.",
  oneMemory: "इथे डिव्हाइस मेमरी आणि CPU मेमरी दोन्ही या मशीनच्या RAM चा भाग आहेत.",
  states: {
    connecting: "कनेक्ट करत आहे…",
    live: "लाइव्ह",
    away: "सर्व्हर प्रतिसाद देत नाही. आकडेवारी आपोआप पुन्हा सुरू होईल.",
  },
  starting: "मॉडेल तयार होताच आकडेवारी दिसेल.",
  refused: "ही संपूर्ण सर्व्हरची आकडेवारी आहे.",
  refusedTodo: "ती पाहण्यासाठी ॲडमिनच्या ॲक्सेस कीने लॉग इन करा.",
  generated: "तयार केलेली",
  prompts: "प्रॉम्प्ट",
  running: "चालू",
  waiting: "प्रतीक्षेत",
  batch: "बॅच आकार",
  tokensPerSecond: "टोकन/से",
  requests: "विनंत्या",
  requestsUnit: "विनंत्या",
  blocks: "ब्लॉक/से",
  perStep: "प्रति टप्पा",
  computed: "गणना केलेली",
  secondsAgo: (seconds) => `−${seconds} से`,
  minutesAgo: (minutes) => `−${minutes} मि`,
  now: "आता",
  used: (used, capacity) => `${capacity} पैकी ${used}`,
  usedOnly: (used) => `${used}, मर्यादा नाही`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "किती भरले",
  hitRate: "हिट दर",
  hitRateNote: "मागील मिनिटात या स्तरात शोधलेल्या प्रॉम्प्ट टोकनपैकी येथे सापडलेल्यांचा वाटा",
  evictions: "काढलेले ब्लॉक",
  blocksPerSecond: (blocks) => `${blocks} ब्लॉक/से`,
  byPerson: "वापरकर्त्यानुसार",
  others: "इतर",
  shared: "सर्वांसाठी सामायिक",
  in: "आत",
  out: "बाहेर",
  traffic: (tier) => `${tier}, आत आणि बाहेर`,
  connection: "कनेक्शन",
  connections: { closed: "सुरू आहे", open: "त्रुटींनंतर वापरात नाही", "half-open": "पुन्हा तपासणी सुरू" },
  replicas: "रेप्लिका",
  replica: (index) => `रेप्लिका ${index}`,
  replicaStates: { ok: "कार्यरत", starting: "सुरू होत आहे", failed: "अयशस्वी" },
  replicaAnswers: (count) => plural(count, { one: "1 उत्तर", other: `${count} उत्तरे` }),
  replicaRestarts: (count) => `${count} वेळा रीस्टार्ट`,
  routes: "पाठवलेल्या विनंत्या",
  routesUnit: "प्रति सेकंद",
  predicted: "पहिले टोकन, अंदाजित / प्रत्यक्ष",
  predictedNote: "मागील मिनिटात रेप्लिका निवडल्यापासून पहिल्या टोकनपर्यंतचा सरासरी वेळ",
  takeovers: "हस्तांतरित उत्तरे",
  table: "चार्ट सारणी स्वरूपात",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: { what: "मेट्रिक", now: "आता", mean: "सरासरी", most: "कमाल" },
};
