import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("nl");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Alles behalve het laatste token is hergebruikt. Het laatste wordt altijd berekend.",
  never_seen: "Voor zover de server weet, is de rest nog nooit berekend.",
  template_changed: "De systeemprompt, de chattemplate of de tokenizer is anders dan de vorige keer.",
  messages_left_out: "Sinds dit bericht bevat de prompt de eerste berichten van de chat niet meer, of juist weer wel.",
  evicted: "De rest was berekend, maar is verdrongen.",
  expired: "De rest was berekend, maar is te lang niet gebruikt en daarom verlopen.",
  computed_otherwise: "De rest was berekend, maar met een andere versie van Ebb, een ander model of een andere rekenwijze.",
  rejected: "De rest was berekend, maar de gegevens zijn beschadigd, horen bij een ander model of zijn niet met de sleutel van deze server geschreven.",
  breaker_open: "De rest was berekend, maar een laag van de cache reageert niet en wordt tijdelijk overgeslagen.",
  not_worth_loading: "De rest was berekend, maar opnieuw berekenen gaat naar verwachting sneller.",
  not_brought: "De rest was berekend, maar kon niet worden geladen: er was geen ruimte in het CPU-geheugen of het kopiëren naar het apparaat is mislukt.",
  partial_block: "De rest was berekend, maar vult geen heel blok. Alleen hele blokken blijven zeker bewaard.",
  off: "De server draait met --no-prefix-cache en hergebruikt niets.",
};

/** Dutch texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `${tokens} berekend`,
  first: (tokens, total, from) => `${tokens} van ${total} tokens uit ${from}`,
  other: (tokens, from) => `${tokens} uit ${from}`,
  firstToken: (time) => `eerste token na ${time}`,
  insteadOf: (time) => ` in plaats van circa ${time}`,
  speed: (tokens) => `${tokens} tokens/s`,
  prompt: "Prompt",
  recomputed: "Berekend",
  typed: (from) => `Tijdens het typen opgehaald uit ${from}`,
  phases: {
    queue: "In de wachtrij",
    lookup: "Opgezocht in cache",
    load: "Blokken geladen",
    prefill: "Berekend",
  },
  timeToFirstToken: "Tijd tot eerste token",
  answer: "Antwoord",
  form: "Vereiste vorm",
  forms: { valid: "nageleefd", invalid: "niet nageleefd", unchecked: "niet gecontroleerd" },
  rate: "Snelheid",
  total: "Totaal",
  cost: "Kosten",
  why: "Waarom is er niet meer hergebruikt?",
  looking: "De uitleg wordt geladen…",
  failed: "De uitleg kon niet worden geladen.",
  reusedAll: (until) => `Alle ${until} tokens in de cache zijn hergebruikt; de rest is nieuw.`,
  reused: (until, reusable) => `${until} van ${reusable} tokens in de cache zijn hergebruikt.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Geavanceerd",
  leftOut: "Weggelaten berichten",
  diverges: (at) => `Vanaf token ${at} wijkt deze prompt af:`,
  goesOn: (at) => `Alles tot en met token ${at} stond in de cache. Daarna kwam:`,
  here: "hier",
  before: "eerder",
  end: "(einde)",
  verified: (count, text) => plural(count, { one: "Eén blok uit een lagere laag is gecontroleerd.", other: `${text} blokken uit lagere lagen zijn gecontroleerd.` }),
  removedLines: (names) => `Weggelaten om de systeemprompt gelijk te houden: ${names}`,
  movedLines: (names) => `Naar het eerste bericht verplaatst om de systeemprompt gelijk te houden: ${names}`,

  promptLines: {
    "claude-code-billing-header": "de facturatieregel van Claude Code",
    "claude-code-git-status": "de Git-status van Claude Code",
    "todays-date": "de datum van vandaag",
    "current-date": "de huidige datum",
    "current-date-and-time": "de huidige datum en tijd",
    "goose-date": "de datum van goose",
    "kimi-cli-date": "de datum van Kimi CLI",
    "home-assistant-clock": "de klok van Home Assistant",
    "session-id": "de sessie-ID",
    "removed-lines": "regels van de instelling removed-lines",
    "moved-lines": "regels van de instelling moved-lines",
  },
};
