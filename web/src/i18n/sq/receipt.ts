import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sq");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "U ripërdor gjithçka përveç tokenit të fundit. I fundit llogaritet gjithmonë.",
  never_seen: "Me sa di serveri, pjesa tjetër nuk ishte llogaritur kurrë.",
  template_changed: "Prompti i sistemit, shablloni i bisedës ose tokenizuesi është ndryshe nga hera e mëparshme.",
  messages_left_out: "Që nga ky mesazh, prompti nuk i përmban më mesazhet e para të bisedës ose i përmban përsëri.",
  evicted: "Pjesa tjetër ishte llogaritur, por u nxor nga memoria cache.",
  expired: "Pjesa tjetër ishte llogaritur, por nuk u përdor për një kohë të gjatë dhe skadoi.",
  computed_otherwise: "Pjesa tjetër ishte llogaritur, por me një version tjetër të Ebb, një model tjetër ose një mënyrë tjetër llogaritjeje.",
  rejected: "Pjesa tjetër ishte llogaritur, por të dhënat e saj janë të dëmtuara, i përkasin një modeli tjetër ose nuk janë shkruar me çelësin e këtij serveri.",
  breaker_open: "Pjesa tjetër ishte llogaritur, por një nivel i memories cache nuk përgjigjet dhe përkohësisht anashkalohet.",
  not_worth_loading: "Pjesa tjetër ishte llogaritur, por llogaritja nga e para pritet të jetë më e shpejtë.",
  not_brought: "Pjesa tjetër ishte llogaritur, por nuk mund të ngarkohej: nuk kishte vend në memorien CPU ose kopjimi në pajisje dështoi.",
  partial_block: "Pjesa tjetër ishte llogaritur, por nuk mbush një bllok të plotë. Vetëm blloqet e plota ruhen me siguri.",
  off: "Serveri punon me --no-prefix-cache dhe nuk ripërdor asgjë.",
};

/** Albanian texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `llogaritur: ${tokens}`,
  first: (tokens, total, from) => `${tokens} nga ${total} tokenë vijnë nga ${from}`,
  other: (tokens, from) => `${tokens} nga ${from}`,
  firstToken: (time) => `tokeni i parë pas ${time}`,
  insteadOf: (time) => ` në vend të rreth ${time}`,
  speed: (tokens) => `${tokens} tokenë/s`,
  prompt: "Prompti",
  recomputed: "Llogaritur",
  typed: (from) => `Ngarkuar nga ${from} ndërsa shkruaje`,
  phases: {
    queue: "Në radhë",
    lookup: "Kërkim në cache",
    load: "Ngarkim i blloqeve",
    prefill: "Llogaritje",
  },
  timeToFirstToken: "Koha deri te tokeni i parë",
  answer: "Përgjigjja",
  form: "Forma e kërkuar",
  forms: { valid: "u respektua", invalid: "nuk u respektua", unchecked: "nuk u kontrollua" },
  rate: "Shpejtësia",
  total: "Gjithsej",
  cost: "Kostoja",
  why: "Pse nuk u ripërdor më shumë?",
  looking: "Po ngarkohet shpjegimi…",
  failed: "Shpjegimi nuk mund të ngarkohej.",
  reusedAll: (until) => `U ripërdorën të gjithë ${until} tokenët nga memoria cache; pjesa tjetër është e re.`,
  reused: (until, reusable) => `U ripërdorën ${until} nga ${reusable} tokenët në memorien cache.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Të avancuara",
  leftOut: "Mesazhe të lëna jashtë",
  diverges: (at) => `Te tokeni ${at} ky prompt ndryshon:`,
  goesOn: (at) => `Gjithçka deri te tokeni ${at} ishte në memorien cache. Më pas vinte:`,
  here: "këtu",
  before: "më parë",
  end: "(fundi)",
  verified: (count, text) => plural(count, { one: "U verifikua një bllok nga një nivel më i ulët.", other: `U verifikuan ${text} blloqe nga nivele më të ulëta.` }),
  removedLines: (names) => `U lanë jashtë, që prompti i sistemit të mbetet i njëjtë: ${names}`,
  movedLines: (names) => `U zhvendosën te mesazhi i parë, që prompti i sistemit të mbetet i njëjtë: ${names}`,

  promptLines: {
    "claude-code-billing-header": "rreshti i faturimit të Claude Code",
    "claude-code-git-status": "gjendja Git e Claude Code",
    "todays-date": "data e sotme",
    "current-date": "data aktuale",
    "current-date-and-time": "data dhe ora aktuale",
    "goose-date": "data e goose",
    "kimi-cli-date": "data e Kimi CLI",
    "home-assistant-clock": "ora e Home Assistant",
    "session-id": "identifikuesi i sesionit",
    "removed-lines": "rreshtat e cilësimit removed-lines",
    "moved-lines": "rreshtat e cilësimit moved-lines",
  },
};
