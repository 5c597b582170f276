import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";

const plural = pluralsOf("hi");

/** Reasons for which no more was reused. */
export const CAUSES: Causes = {
  complete: "आख़िरी टोकन को छोड़कर सब कुछ दोबारा इस्तेमाल हुआ। आख़िरी की गणना हमेशा होती है।",
  never_seen: "जहाँ तक सर्वर को पता है, बाकी की गणना पहले कभी नहीं हुई।",
  template_changed: "सिस्टम प्रॉम्प्ट, चैट टेम्प्लेट या टोकनाइज़र पिछली बार से अलग है।",
  messages_left_out: "इस मैसेज से आगे प्रॉम्प्ट में चैट के शुरुआती मैसेज शामिल नहीं हैं, या फिर से शामिल हैं।",
  evicted: "बाकी की गणना हुई थी, पर उसे कैश से निकाल दिया गया।",
  expired: "बाकी की गणना हुई थी, पर बहुत समय तक इस्तेमाल न होने से उसकी समय-सीमा ख़त्म हो गई।",
  computed_otherwise: "बाकी की गणना हुई थी, पर Ebb के किसी दूसरे संस्करण, दूसरे मॉडल या दूसरे तरीक़े से।",
  rejected: "बाकी की गणना हुई थी, पर उसका डेटा ख़राब है, किसी दूसरे मॉडल का है या इस सर्वर की कुंजी से नहीं लिखा गया।",
  breaker_open: "बाकी की गणना हुई थी, पर कैश का एक स्तर जवाब नहीं दे रहा और फ़िलहाल छोड़ दिया गया है।",
  not_worth_loading: "बाकी की गणना हुई थी, पर उसे लाने के बजाय दोबारा गणना करना जल्दी होने का अनुमान है।",
  not_brought: "बाकी की गणना हुई थी, पर उसे लाया नहीं जा सका: CPU मेमोरी में जगह नहीं थी या डिवाइस पर कॉपी नहीं हो सका।",
  partial_block: "बाकी की गणना हुई थी, पर उससे पूरा ब्लॉक नहीं भरता। सिर्फ़ पूरे ब्लॉक पक्के तौर पर रखे जाते हैं।",
  off: "सर्वर --no-prefix-cache के साथ चल रहा है और कुछ भी दोबारा इस्तेमाल नहीं करता।",
};

/** Hindi texts for the details of a receipt. */
export const texts: ReceiptTexts = {
  computed: (tokens) => `${tokens} की गणना हुई`,
  first: (tokens, total, from) => `${total} में से ${tokens} टोकन ${from} से`,
  other: (tokens, from) => `${tokens} ${from} से`,
  firstToken: (time) => `पहला टोकन ${time} में`,
  insteadOf: (time) => ` (कैश के बिना लगभग ${time})`,
  speed: (tokens) => `${tokens} टोकन/से॰`,
  prompt: "प्रॉम्प्ट",
  recomputed: "गणना की गई",
  typed: (from) => `आपके टाइप करते समय ${from} से लाया गया`,
  phases: { queue: "कतार में", lookup: "कैश में खोज", load: "कैश के ब्लॉक लोड हुए", prefill: "गणना की गई" },
  timeToFirstToken: "पहले टोकन तक का समय",
  answer: "जवाब",
  form: "माँगा गया प्रारूप",
  forms: { valid: "सही", invalid: "सही नहीं", unchecked: "जाँचा नहीं गया" },
  rate: "रफ़्तार",
  total: "कुल",
  cost: "खर्च",
  why: "इससे ज़्यादा दोबारा इस्तेमाल क्यों नहीं हुआ?",
  looking: "कारण लोड हो रहा है…",
  failed: "कारण लोड नहीं हो सका।",
  reusedAll: (until) => `कैश के सभी ${until} टोकन दोबारा इस्तेमाल हुए; बाकी नया है।`,
  reused: (until, reusable) => `कैश के ${reusable} में से ${until} टोकन दोबारा इस्तेमाल हुए।`,
  cause: (_said, cause) => CAUSES[cause] ?? "कारण सर्वर के लॉग में है।",
  advanced: "ऐडवांस",
  leftOut: "छोड़े गए मैसेज",
  diverges: (at) => `टोकन ${at} पर यह प्रॉम्प्ट अलग हो जाता है:`,
  goesOn: (at) => `टोकन ${at} तक सब कैश में था। फिर यह आया:`,
  here: "यहाँ",
  before: "पहले",
  end: "(समाप्त)",
  verified: (count, text) => plural(count, { one: `निचले स्तर के ${text} ब्लॉक की जाँच हुई।`, other: `निचले स्तरों के ${text} ब्लॉक की जाँच हुई।` }),
  removedLines: (names) => `सिस्टम प्रॉम्प्ट को एक जैसा रखने के लिए छोड़ा गया: ${names}`,
  movedLines: (names) => `सिस्टम प्रॉम्प्ट को एक जैसा रखने के लिए पहले मैसेज में ले जाया गया: ${names}`,

  promptLines: {
    "claude-code-billing-header": "Claude Code का बिलिंग हेडर",
    "claude-code-git-status": "Claude Code की Git स्थिति",
    "todays-date": "आज की तारीख़",
    "current-date": "मौजूदा तारीख़",
    "current-date-and-time": "मौजूदा तारीख़ और समय",
    "goose-date": "goose की तारीख़",
    "kimi-cli-date": "Kimi CLI की तारीख़",
    "home-assistant-clock": "Home Assistant की घड़ी",
    "session-id": "सत्र की आईडी",
    "removed-lines": "removed-lines सेटिंग की पंक्तियाँ",
    "moved-lines": "moved-lines सेटिंग की पंक्तियाँ",
  },
};
