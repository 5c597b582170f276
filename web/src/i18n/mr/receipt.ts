import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("mr");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "शेवटचे टोकन वगळता सर्व काही पुन्हा वापरले. शेवटच्या टोकनची गणना नेहमी केली जाते.",
  never_seen: "सर्व्हरच्या माहितीनुसार, बाकीच्या भागाची गणना यापूर्वी कधीही झालेली नाही.",
  template_changed: "सिस्टम प्रॉम्प्ट, चॅट टेम्पलेट किंवा टोकनायझर मागील वेळेपेक्षा वेगळा आहे.",
  messages_left_out: "या मेसेजपासून प्रॉम्प्टमध्ये चॅटचे पहिले मेसेज नाहीत, किंवा पुन्हा आहेत.",
  evicted: "बाकीच्या भागाची गणना झाली होती, पण तो कॅशेमधून काढला गेला.",
  expired: "बाकीच्या भागाची गणना झाली होती, पण खूप काळ न वापरल्याने त्याची मुदत संपली.",
  computed_otherwise: "बाकीच्या भागाची गणना झाली होती, पण Ebb च्या दुसऱ्या आवृत्तीने, दुसऱ्या मॉडेलने किंवा दुसऱ्या पद्धतीने.",
  rejected: "बाकीच्या भागाची गणना झाली होती, पण त्याचा डेटा खराब आहे, दुसऱ्या मॉडेलचा आहे किंवा या सर्व्हरच्या कीने लिहिलेला नाही.",
  breaker_open: "बाकीच्या भागाची गणना झाली होती, पण कॅशेचा एक स्तर प्रतिसाद देत नाही आणि तात्पुरता वगळला आहे.",
  not_worth_loading: "बाकीच्या भागाची गणना झाली होती, पण पुन्हा गणना करणे अधिक जलद होईल असा अंदाज होता.",
  not_brought: "बाकीच्या भागाची गणना झाली होती, पण तो आणता आला नाही: CPU मेमरीमध्ये जागा नव्हती किंवा डिव्हाइसवर कॉपी करता आला नाही.",
  partial_block: "बाकीच्या भागाची गणना झाली होती, पण त्याने पूर्ण ब्लॉक भरत नाही. फक्त पूर्ण ब्लॉक खात्रीने ठेवले जातात.",
  off: "सर्व्हर --no-prefix-cache सह चालत आहे आणि काहीही पुन्हा वापरत नाही.",
};

/** Marathi texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `${tokens}ची गणना`,
  first: (tokens, total, from) => `${total} पैकी ${tokens} टोकन ${from}`,
  other: (tokens, from) => `${tokens} ${from}`,
  firstToken: (time) => `पहिले टोकन ${time}`,
  insteadOf: (time) => ` (कॅशेशिवाय सुमारे ${time})`,
  speed: (tokens) => `${tokens} टोकन/से`,
  prompt: "प्रॉम्प्ट",
  recomputed: "गणना केलेली",
  typed: (from) => `तुम्ही टाइप करताना ${from} आणलेली`,
  phases: { queue: "रांगेत", lookup: "कॅशेमध्ये शोध", load: "कॅशेमधील ब्लॉक लोड", prefill: "गणना" },
  timeToFirstToken: "पहिल्या टोकनपर्यंतचा वेळ",
  answer: "उत्तर",
  form: "मागितलेले स्वरूप",
  forms: { valid: "पाळले", invalid: "पाळले नाही", unchecked: "तपासले नाही" },
  rate: "वेग",
  total: "एकूण",
  cost: "खर्च",
  why: "यापेक्षा अधिक पुन्हा का वापरले नाही?",
  looking: "स्पष्टीकरण लोड होत आहे…",
  failed: "स्पष्टीकरण लोड करता आले नाही.",
  reusedAll: (until) => `कॅशेमधील सर्व ${until} टोकन पुन्हा वापरली; बाकीचे नवीन आहे.`,
  reused: (until, reusable) => `कॅशेमधील ${reusable} पैकी ${until} टोकन पुन्हा वापरली.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "प्रगत",
  leftOut: "वगळलेले मेसेज",
  diverges: (at) => `टोकन ${at} ला हा प्रॉम्प्ट वेगळा होतो:`,
  goesOn: (at) => `टोकन ${at} पर्यंत सर्व काही कॅशेमध्ये होते. मग हे आले:`,
  here: "येथे",
  before: "आधी",
  end: "(समाप्त)",
  verified: (count, text) => plural(count, { one: "खालच्या स्तरातील एक ब्लॉक पडताळला.", other: `खालच्या स्तरांतील ${text} ब्लॉक पडताळले.` }),
  removedLines: (names) => `सिस्टम प्रॉम्प्ट तसाच राहावा म्हणून वगळले: ${names}`,
  movedLines: (names) => `सिस्टम प्रॉम्प्ट तसाच राहावा म्हणून पहिल्या मेसेजमध्ये हलवले: ${names}`,

  promptLines: {
    "claude-code-billing-header": "Claude Code चे बिलिंग हेडर",
    "claude-code-git-status": "Claude Code ची Git स्थिती",
    "todays-date": "आजची तारीख",
    "current-date": "सध्याची तारीख",
    "current-date-and-time": "सध्याची तारीख आणि वेळ",
    "goose-date": "goose ची तारीख",
    "kimi-cli-date": "Kimi CLI ची तारीख",
    "home-assistant-clock": "Home Assistant चे घड्याळ",
    "session-id": "सत्राचा आयडी",
    "removed-lines": "removed-lines सेटिंगमधील ओळी",
    "moved-lines": "moved-lines सेटिंगमधील ओळी",
  },
};
