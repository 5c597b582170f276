import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sw");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Tokeni zote zimetumika tena isipokuwa ya mwisho. Ya mwisho hukokotolewa kila mara.",
  never_seen: "Kwa kadiri seva inavyojua, sehemu iliyobaki haijawahi kukokotolewa.",
  template_changed: "Kidokezo cha mfumo, kiolezo cha gumzo au kigawanya tokeni ni tofauti na cha awali.",
  messages_left_out: "Tangu ujumbe huu, kidokezo hakina tena, au kina tena, ujumbe wa kwanza wa gumzo.",
  evicted: "Sehemu iliyobaki ilikokotolewa, lakini iliondolewa kwenye akiba.",
  expired: "Sehemu iliyobaki ilikokotolewa, lakini haikutumika kwa muda mrefu na ikaisha muda.",
  computed_otherwise: "Sehemu iliyobaki ilikokotolewa, lakini kwa toleo jingine la Ebb, modeli nyingine, au njia nyingine ya ukokotoaji.",
  rejected: "Sehemu iliyobaki ilikokotolewa, lakini data yake imeharibika, ni ya modeli nyingine, au haikuandikwa kwa ufunguo wa seva hii.",
  breaker_open: "Sehemu iliyobaki ilikokotolewa, lakini tabaka moja la akiba halijibu na linarukwa kwa muda.",
  not_worth_loading: "Sehemu iliyobaki ilikokotolewa, lakini inatarajiwa kuwa haraka zaidi kuikokotoa upya.",
  not_brought: "Sehemu iliyobaki ilikokotolewa, lakini haikuweza kupakiwa: memori ya CPU haikuwa na nafasi, au kunakili kwenye kifaa kulishindikana.",
  partial_block: "Sehemu iliyobaki ilikokotolewa, lakini haijazi bloku nzima. Ni bloku kamili tu ndizo zinazohifadhiwa kwa uhakika.",
  off: "Seva inaendeshwa kwa --no-prefix-cache na haitumii tena chochote.",
};

/** Swahili texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `${tokens} zimekokotolewa`,
  first: (tokens, total, from) => `tokeni ${tokens} kati ya ${total} kutoka ${from}`,
  other: (tokens, from) => `${tokens} kutoka ${from}`,
  firstToken: (time) => `tokeni ya kwanza ${time}`,
  insteadOf: (time) => ` badala ya takriban ${time}`,
  speed: (tokens) => `tokeni ${tokens}/s`,
  prompt: "Kidokezo",
  recomputed: "Zilizokokotolewa",
  typed: (from) => `Zilizorejeshwa kutoka ${from} ulipokuwa ukiandika`,
  phases: {
    queue: "Foleni",
    lookup: "Utafutaji kwenye akiba",
    load: "Kupakia bloku za akiba",
    prefill: "Kukokotoa",
  },
  timeToFirstToken: "Muda hadi tokeni ya kwanza",
  answer: "Jibu",
  form: "Muundo uliotakiwa",
  forms: { valid: "umefuatwa", invalid: "haujafuatwa", unchecked: "haujakaguliwa" },
  rate: "Kasi",
  total: "Jumla",
  cost: "Gharama",
  why: "Kwa nini hazikutumika tena nyingi zaidi?",
  looking: "Maelezo yanapakiwa…",
  failed: "Maelezo hayakuweza kupakiwa.",
  reusedAll: (until) => `Tokeni zote ${until} za akiba zimetumika tena; zilizobaki ni mpya.`,
  reused: (until, reusable) => `Tokeni ${until} kati ya ${reusable} za akiba zimetumika tena.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Kwa kina",
  leftOut: "Ujumbe ulioachwa",
  diverges: (at) => `Kidokezo hiki kinatofautiana kuanzia tokeni ya ${at}:`,
  goesOn: (at) => `Kila kitu hadi tokeni ya ${at} kilikuwa kwenye akiba. Kisha ikafuata:`,
  here: "hapa",
  before: "awali",
  end: "(mwisho)",
  verified: (count, text) => plural(count, { one: "Bloku moja kutoka tabaka la chini imethibitishwa.", other: `Bloku ${text} kutoka matabaka ya chini zimethibitishwa.` }),
  removedLines: (names) => `Imeachwa ili kidokezo cha mfumo kisibadilike: ${names}`,
  movedLines: (names) => `Imehamishiwa kwenye ujumbe wa kwanza ili kidokezo cha mfumo kisibadilike: ${names}`,

  promptLines: {
    "claude-code-billing-header": "kichwa cha malipo cha Claude Code",
    "claude-code-git-status": "hali ya Git ya Claude Code",
    "todays-date": "tarehe ya leo",
    "current-date": "tarehe ya sasa",
    "current-date-and-time": "tarehe na saa ya sasa",
    "goose-date": "tarehe ya goose",
    "kimi-cli-date": "tarehe ya Kimi CLI",
    "home-assistant-clock": "saa ya Home Assistant",
    "session-id": "kitambulisho cha kipindi",
    "removed-lines": "mistari ya mpangilio wa removed-lines",
    "moved-lines": "mistari ya mpangilio wa moved-lines",
  },
};
