import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("ta");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "முடக்கத்தில் உள்ளது.",
  full: "நிரம்பியது: இப்போது மேலும் பிளாக்குகளை ஏற்காது.",
  unused: "சரியாகப் பதிலளிக்கவில்லை, எனவே தற்காலிகமாகப் பயன்பாட்டில் இல்லை.",
  refusing: "புதிய பிளாக்குகளை ஏற்பதில்லை. படிப்பது தொடர்கிறது.",
  slow: "மெதுவாக உள்ளது: பிளாக்குகள் எழுதப்படக் காத்திருக்கின்றன.",
  other: "சிக்கல் உள்ளது. விவரங்கள் சர்வரின் பதிவில் உள்ளன.",
};

/** Tamil texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "முழுச் சர்வரும் ஒவ்வொரு விநாடியும் என்ன செய்கிறது எனப் பார்க்கலாம். விளக்கப்படங்கள் அதிகபட்சம் ஐந்து நிமிடங்களைக் காட்டும்.",
  oneMemory: "இங்கு சாதன நினைவகமும் CPU நினைவகமும் கணினியின் RAM-இன் பகுதிகளே.",
  states: {
    connecting: "இணைகிறது…",
    live: "நேரலை",
    away: "சர்வர் பதிலளிக்கவில்லை. தரவு தானாகவே மீண்டும் தொடரும்.",
  },
  starting: "மாடல் தயாரானதும் தரவு தோன்றும்.",
  refused: "இது முழுச் சர்வரின் தரவு.",
  refusedTodo: "பார்க்க, நிர்வாகியின் அணுகல் விசை மூலம் உள்நுழையவும்.",
  generated: "உருவாக்கியவை",
  prompts: "ப்ராம்ப்ட்கள்",
  running: "இயங்குபவை",
  waiting: "காத்திருப்பவை",
  batch: "தொகுதி அளவு",
  tokensPerSecond: "டோக்கன்கள்/வி",
  requests: "கோரிக்கைகள்",
  requestsUnit: "கோரிக்கைகள்",
  blocks: "பிளாக்குகள்/வி",
  perStep: "கோரிக்கைகள்/படி",
  computed: "கணக்கிட்டவை",
  secondsAgo: (seconds) => `−${seconds} வி`,
  minutesAgo: (minutes) => `−${minutes} நிமி`,
  now: "இப்போது",
  used: (used, capacity) => `${used} / ${capacity}`,
  usedOnly: (used) => `${used}, வரம்பில்லை`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "நிரம்பிய அளவு",
  hitRate: "ஹிட் விகிதம்",
  hitRateNote: "கடந்த ஒரு நிமிடத்தில் இந்த அடுக்கில் தேடிய ப்ராம்ப்ட் டோக்கன்களில் இங்கிருந்தவற்றின் பங்கு",
  evictions: "வெளியேற்றங்கள்",
  blocksPerSecond: (blocks) => `${blocks} பிளாக்குகள்/வி`,
  byPerson: "பயனர் வாரியாக",
  others: "மற்றவை",
  shared: "அனைவருக்கும் பொது",
  in: "உள்ளே",
  out: "வெளியே",
  traffic: (tier) => `${tier}, உள்ளேயும் வெளியேயும்`,
  connection: "இணைப்பு",
  connections: { closed: "இயங்குகிறது", open: "பிழைகளால் பயன்பாட்டில் இல்லை", "half-open": "மீண்டும் சோதிக்கப்படுகிறது" },
  replicas: "பிரதிகள்",
  replica: (index) => `பிரதி ${index}`,
  replicaStates: { ok: "இயங்குகிறது", starting: "தொடங்குகிறது", failed: "தோல்வி" },
  replicaAnswers: (count) => plural(count, { one: "1 பதில்", other: `${count} பதில்கள்` }),
  replicaRestarts: (count) => plural(count, { one: "1 மறுதொடக்கம்", other: `${count} மறுதொடக்கங்கள்` }),
  routes: "அனுப்பிய கோரிக்கைகள்",
  routesUnit: "கோரிக்கைகள்/வி",
  predicted: "முதல் டோக்கன், கணித்தது / கண்டது",
  predictedNote: "கடந்த ஒரு நிமிடத்தில், பிரதியைத் தேர்ந்தெடுத்ததிலிருந்து முதல் டோக்கன் வரையிலான சராசரி நேரம்",
  takeovers: "வேறு பிரதி தொடர்ந்த பதில்கள்",
  table: "விளக்கப்படங்கள் அட்டவணையாக",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: { what: "அளவீடு", now: "இப்போது", mean: "சராசரி", most: "அதிகபட்சம்" },
};
