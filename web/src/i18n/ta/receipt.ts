import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("ta");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "கடைசி டோக்கனைத் தவிர அனைத்தும் மீண்டும் பயன்படுத்தப்பட்டன. கடைசியானது எப்போதும் கணக்கிடப்படும்.",
  never_seen: "சர்வருக்குத் தெரிந்தவரை, மீதி இதற்குமுன் கணக்கிடப்பட்டதில்லை.",
  template_changed: "சிஸ்டம் ப்ராம்ப்ட், சாட் டெம்ப்ளேட் அல்லது டோக்கனைசர் முந்தைய முறையிலிருந்து மாறியுள்ளது.",
  messages_left_out: "இந்த மெசேஜிலிருந்து ப்ராம்ப்ட்டில் சாட்டின் முதல் மெசேஜ்கள் இல்லை, அல்லது மீண்டும் உள்ளன.",
  evicted: "மீதி கணக்கிடப்பட்டிருந்தது, ஆனால் கேச்சிலிருந்து வெளியேற்றப்பட்டது.",
  expired: "மீதி கணக்கிடப்பட்டிருந்தது, ஆனால் நீண்ட காலம் பயன்படுத்தாததால் காலாவதியானது.",
  computed_otherwise: "மீதி கணக்கிடப்பட்டிருந்தது, ஆனால் Ebb-இன் வேறு பதிப்பு, வேறு மாடல் அல்லது வேறு கணக்கீட்டு முறையால்.",
  rejected: "மீதி கணக்கிடப்பட்டிருந்தது, ஆனால் அதன் தரவு சேதமடைந்தது, வேறு மாடலுக்குரியது, அல்லது இந்தச் சர்வரின் விசையால் எழுதப்படவில்லை.",
  breaker_open: "மீதி கணக்கிடப்பட்டிருந்தது, ஆனால் கேச்சின் ஓர் அடுக்கு பதிலளிக்காததால் தற்காலிகமாகத் தவிர்க்கப்படுகிறது.",
  not_worth_loading: "மீதி கணக்கிடப்பட்டிருந்தது, ஆனால் மீண்டும் கணக்கிடுவதே வேகமாக இருக்கும் என மதிப்பிடப்பட்டது.",
  not_brought: "மீதி கணக்கிடப்பட்டிருந்தது, ஆனால் ஏற்ற முடியவில்லை: CPU நினைவகத்தில் இடமில்லை, அல்லது சாதனத்திற்கு நகலெடுக்க முடியவில்லை.",
  partial_block: "மீதி கணக்கிடப்பட்டிருந்தது, ஆனால் முழு பிளாக்கை நிரப்பவில்லை. முழு பிளாக்குகள் மட்டுமே உறுதியாக வைக்கப்படும்.",
  off: "சர்வர் --no-prefix-cache உடன் இயங்குகிறது, எதையும் மீண்டும் பயன்படுத்துவதில்லை.",
};

/** Tamil texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `கணக்கீடு: ${tokens}`,
  first: (tokens, total, from) => `${total} டோக்கன்களில் ${tokens} ${from}`,
  other: (tokens, from) => `${tokens} ${from}`,
  firstToken: (time) => `முதல் டோக்கன் ${time}`,
  insteadOf: (time) => ` (கேச் இல்லாமல் சுமார் ${time})`,
  speed: (tokens) => `${tokens} டோக்கன்கள்/வி`,
  prompt: "ப்ராம்ப்ட்",
  recomputed: "கணக்கிட்டவை",
  typed: (from) => `நீங்கள் தட்டச்சு செய்தபோது ${from} மீட்கப்பட்டது`,
  phases: { queue: "வரிசையில்", lookup: "கேச்சில் தேடல்", load: "கேச் பிளாக்குகள் ஏற்றம்", prefill: "கணக்கீடு" },
  timeToFirstToken: "முதல் டோக்கன் வரை நேரம்",
  answer: "பதில்",
  form: "கோரப்பட்ட வடிவம்",
  forms: { valid: "பின்பற்றப்பட்டது", invalid: "பின்பற்றப்படவில்லை", unchecked: "சரிபார்க்கப்படவில்லை" },
  rate: "வேகம்",
  total: "மொத்தம்",
  cost: "செலவு",
  why: "ஏன் இதைவிட அதிகம் மீண்டும் பயன்படுத்தப்படவில்லை?",
  looking: "விளக்கம் ஏற்றப்படுகிறது…",
  failed: "விளக்கத்தை ஏற்ற முடியவில்லை.",
  reusedAll: (until) => `கேச்சிலிருந்த ${until} டோக்கன்களும் மீண்டும் பயன்படுத்தப்பட்டன; மீதி புதியவை.`,
  reused: (until, reusable) => `கேச்சிலிருந்த ${reusable} டோக்கன்களில் ${until} மீண்டும் பயன்படுத்தப்பட்டன.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "மேம்பட்டவை",
  leftOut: "விடுபட்ட மெசேஜ்கள்",
  diverges: (at) => `டோக்கன் ${at}-இல் இந்த ப்ராம்ப்ட் வேறுபடுகிறது:`,
  goesOn: (at) => `டோக்கன் ${at} வரை அனைத்தும் கேச்சில் இருந்தன. பிறகு வந்தது:`,
  here: "இங்கே",
  before: "முன்பு",
  end: "(முடிவு)",
  verified: (count, text) => plural(count, { one: "கீழ் அடுக்கிலிருந்து ஒரு பிளாக் சரிபார்க்கப்பட்டது.", other: `கீழ் அடுக்குகளிலிருந்து ${text} பிளாக்குகள் சரிபார்க்கப்பட்டன.` }),
  removedLines: (names) => `சிஸ்டம் ப்ராம்ப்ட் மாறாமல் இருக்க விடப்பட்டவை: ${names}`,
  movedLines: (names) => `சிஸ்டம் ப்ராம்ப்ட் மாறாமல் இருக்க முதல் மெசேஜுக்கு நகர்த்தப்பட்டவை: ${names}`,

  promptLines: {
    "claude-code-billing-header": "Claude Code-இன் பில்லிங் தலைப்பு",
    "claude-code-git-status": "Claude Code-இன் Git நிலை",
    "todays-date": "இன்றைய தேதி",
    "current-date": "தற்போதைய தேதி",
    "current-date-and-time": "தற்போதைய தேதியும் நேரமும்",
    "goose-date": "goose-இன் தேதி",
    "kimi-cli-date": "Kimi CLI-இன் தேதி",
    "home-assistant-clock": "Home Assistant-இன் கடிகாரம்",
    "session-id": "அமர்வின் அடையாளம்",
    "removed-lines": "removed-lines அமைப்பின் வரிகள்",
    "moved-lines": "moved-lines அமைப்பின் வரிகள்",
  },
};
