import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("is");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Allt nema síðasti tókinn var endurnýtt. Hann er alltaf reiknaður.",
  never_seen: "Eftir því sem þjónninn best veit hefur afgangurinn aldrei verið reiknaður.",
  template_changed: "Kerfiskvaðningin, spjallsniðmátið eða tókunin er önnur en síðast.",
  messages_left_out: "Frá og með þessum skilaboðum eru fyrstu skilaboð spjallsins ekki lengur í kvaðningunni, eða eru þar aftur.",
  evicted: "Afgangurinn hafði verið reiknaður en vék úr skyndiminninu.",
  expired: "Afgangurinn hafði verið reiknaður en var ónotaður of lengi og rann út.",
  computed_otherwise: "Afgangurinn hafði verið reiknaður en með annarri útgáfu af Ebb, öðru líkani eða annarri reikniaðferð.",
  rejected: "Afgangurinn hafði verið reiknaður en gögnin eru skemmd, tilheyra öðru líkani eða eru ekki skrifuð með lykli þessa þjóns.",
  breaker_open: "Afgangurinn hafði verið reiknaður en eitt þrep skyndiminnisins svarar ekki og er tímabundið sniðgengið.",
  not_worth_loading: "Afgangurinn hafði verið reiknaður en líklega er fljótlegra að reikna hann aftur.",
  not_brought: "Afgangurinn hafði verið reiknaður en ekki var hægt að hlaða honum inn: ekkert pláss var í CPU-minninu eða afritun á tækið mistókst.",
  partial_block: "Afgangurinn hafði verið reiknaður en fyllir ekki heila blokk. Aðeins heilar blokkir geymast örugglega.",
  off: "Þjónninn keyrir með --no-prefix-cache og endurnýtir ekkert.",
};

/** Icelandic texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `reiknað: ${tokens}`,
  first: (tokens, total, from) => `${tokens} af ${total} tókum úr ${from}`,
  other: (tokens, from) => `${tokens} úr ${from}`,
  firstToken: (time) => `fyrsti tóki eftir ${time}`,
  insteadOf: (time) => ` í stað u.þ.b. ${time}`,
  speed: (tokens) => `${tokens} tókar/s`,
  prompt: "Kvaðning",
  recomputed: "Reiknað",
  typed: (from) => `Sótt úr ${from} á meðan þú skrifaðir`,
  phases: {
    queue: "Í biðröð",
    lookup: "Leit í skyndiminni",
    load: "Blokkir sóttar",
    prefill: "Reiknað",
  },
  timeToFirstToken: "Tími að fyrsta tóka",
  answer: "Svar",
  form: "Umbeðið snið",
  forms: { valid: "uppfyllt", invalid: "ekki uppfyllt", unchecked: "ekki athugað" },
  rate: "Hraði",
  total: "Alls",
  cost: "Kostnaður",
  why: "Hvers vegna var ekki meira endurnýtt?",
  looking: "Sæki skýringuna…",
  failed: "Ekki var hægt að sækja skýringuna.",
  reusedAll: (until) => `Allt í skyndiminni var endurnýtt (fjöldi tóka: ${until}); afgangurinn er nýr.`,
  reused: (until, reusable) => `${until} af ${reusable} tókum í skyndiminni voru endurnýttir.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Ítarlegt",
  leftOut: "Skilaboð sem var sleppt",
  diverges: (at) => `Við tóka ${at} víkur þessi kvaðning frá:`,
  goesOn: (at) => `Allt fram að tóka ${at} var í skyndiminni. Síðan kom:`,
  here: "hér",
  before: "áður",
  end: "(endir)",
  verified: (count, text) => plural(count, { one: `${text} blokk úr neðra þrepi var staðfest.`, other: `${text} blokkir úr neðri þrepum voru staðfestar.` }),
  removedLines: (names) => `Sleppt, til að halda kerfiskvaðningunni óbreyttri: ${names}`,
  movedLines: (names) => `Fært í fyrstu skilaboðin, til að halda kerfiskvaðningunni óbreyttri: ${names}`,

  promptLines: {
    "claude-code-billing-header": "reikningslína Claude Code",
    "claude-code-git-status": "Git-staða Claude Code",
    "todays-date": "dagsetning dagsins",
    "current-date": "núverandi dagsetning",
    "current-date-and-time": "núverandi dagsetning og tími",
    "goose-date": "dagsetning goose",
    "kimi-cli-date": "dagsetning Kimi CLI",
    "home-assistant-clock": "klukka Home Assistant",
    "session-id": "auðkenni lotunnar",
    "removed-lines": "línur úr stillingunni removed-lines",
    "moved-lines": "línur úr stillingunni moved-lines",
  },
};
