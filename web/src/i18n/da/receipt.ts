import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("da");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Alt undtagen det sidste token blev genbrugt. Det sidste beregnes altid.",
  never_seen: "Så vidt serveren ved, er resten aldrig blevet beregnet.",
  template_changed: "Systemprompten, chatskabelonen eller tokenizeren er en anden end sidste gang.",
  messages_left_out: "Fra denne besked indeholder prompten ikke længere chattens første beskeder, eller den gør det igen.",
  evicted: "Resten var beregnet, men blev fortrængt.",
  expired: "Resten var beregnet, men blev ikke brugt i for lang tid og er udløbet.",
  computed_otherwise: "Resten var beregnet, men med en anden version af Ebb, en anden model eller en anden beregningsmåde.",
  rejected: "Resten var beregnet, men dens data er beskadigede, hører til en anden model eller er ikke skrevet med denne servers nøgle.",
  breaker_open: "Resten var beregnet, men et niveau i cachen svarer ikke og springes midlertidigt over.",
  not_worth_loading: "Resten var beregnet, men det går formentlig hurtigere at beregne den igen.",
  not_brought: "Resten var beregnet, men kunne ikke indlæses: Der var ikke plads i CPU-hukommelsen, eller kopieringen til enheden mislykkedes.",
  partial_block: "Resten var beregnet, men fylder ikke en hel blok. Kun hele blokke bevares sikkert.",
  off: "Serveren kører med --no-prefix-cache og genbruger intet.",
};

/** Danish texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `${tokens} beregnet`,
  first: (tokens, total, from) => `${tokens} af ${total} tokens fra ${from}`,
  other: (tokens, from) => `${tokens} fra ${from}`,
  firstToken: (time) => `første token efter ${time}`,
  insteadOf: (time) => ` i stedet for ca. ${time}`,
  speed: (tokens) => `${tokens} tokens/s`,
  prompt: "Prompt",
  recomputed: "Beregnet",
  typed: (from) => `Hentet fra ${from}, mens du skrev`,
  phases: {
    queue: "I kø",
    lookup: "Opslag i cachen",
    load: "Blokke indlæst",
    prefill: "Beregnet",
  },
  timeToFirstToken: "Tid til første token",
  answer: "Svar",
  form: "Krævet format",
  forms: { valid: "overholdt", invalid: "ikke overholdt", unchecked: "ikke kontrolleret" },
  rate: "Hastighed",
  total: "I alt",
  cost: "Pris",
  why: "Hvorfor blev der ikke genbrugt mere?",
  looking: "Forklaringen indlæses…",
  failed: "Forklaringen kunne ikke indlæses.",
  reusedAll: (until) => `Alle ${until} tokens i cachen blev genbrugt; resten er nyt.`,
  reused: (until, reusable) => `${until} af ${reusable} tokens i cachen blev genbrugt.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Avanceret",
  leftOut: "Udeladte beskeder",
  diverges: (at) => `Ved token ${at} afviger denne prompt:`,
  goesOn: (at) => `Alt frem til token ${at} var i cachen. Derefter kom:`,
  here: "her",
  before: "før",
  end: "(slut)",
  verified: (count, text) => plural(count, { one: "Én blok fra et lavere niveau blev kontrolleret.", other: `${text} blokke fra lavere niveauer blev kontrolleret.` }),
  removedLines: (names) => `Udeladt for at holde systemprompten uændret: ${names}`,
  movedLines: (names) => `Flyttet til den første besked for at holde systemprompten uændret: ${names}`,

  promptLines: {
    "claude-code-billing-header": "faktureringslinjen fra Claude Code",
    "claude-code-git-status": "Git-status fra Claude Code",
    "todays-date": "dags dato",
    "current-date": "den aktuelle dato",
    "current-date-and-time": "den aktuelle dato og tid",
    "goose-date": "datoen fra goose",
    "kimi-cli-date": "datoen fra Kimi CLI",
    "home-assistant-clock": "uret fra Home Assistant",
    "session-id": "sessionens id",
    "removed-lines": "linjer fra indstillingen removed-lines",
    "moved-lines": "linjer fra indstillingen moved-lines",
  },
};
