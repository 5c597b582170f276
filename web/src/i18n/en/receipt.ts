/** English texts for the details of a receipt. */
export const texts = {
  computed: (tokens: string) => `${tokens} computed`,
  first: (tokens: string, total: string, from: string) => `${tokens} of ${total} tokens from ${from}`,
  other: (tokens: string, from: string) => `${tokens} from ${from}`,
  firstToken: (time: string) => `first token ${time}`,
  insteadOf: (time: string) => ` instead of about ${time}`,
  speed: (tokens: string) => `${tokens} tokens/s`,
  prompt: "Prompt",
  recomputed: "Computed",
  typed: (from: string) => `Restored from ${from} while you typed`,
  phases: { queue: "Queued", lookup: "Cache lookup", load: "Loaded cached blocks", prefill: "Computed" },
  timeToFirstToken: "Time to first token",
  answer: "Answer",
  form: "Required form",
  forms: { valid: "kept", invalid: "not kept", unchecked: "not checked" },
  promise: "Kept on the disk",
  promised: (tokens: string, time: string) => `${tokens} until ${time}`,
  notPromised: (tokens: string) => `${tokens} not kept`,
  rate: "Speed",
  total: "Total",
  cost: "Cost",
  why: "Why wasn't more reused?",
  looking: "Loading the explanation…",
  failed: "Couldn't load the explanation.",
  reusedAll: (until: string) => `All ${until} cached tokens were reused; the rest is new.`,
  reused: (until: string, reusable: string) => `${until} of ${reusable} cached tokens were reused.`,
  cause: (said: string, _cause: string) => said,
  advanced: "Advanced",
  leftOut: "Messages left out",
  diverges: (at: string) => `At token ${at} this prompt diverges:`,
  goesOn: (at: string) => `Everything up to token ${at} was cached. Then came:`,
  here: "here",
  before: "before",
  end: "(end)",
  verified: (count: number, text: string) =>
    count === 1 ? "One block from a lower tier was verified." : `${text} blocks from lower tiers were verified.`,
  removedLines: (names: string) => `Left out, to keep the system prompt stable: ${names}`,
  movedLines: (names: string) => `Moved to the first message, to keep the system prompt stable: ${names}`,

  /** Names of the lines that the server takes out of system prompts, by the names that receipts have. */
  promptLines: {
    "claude-code-billing-header": "Claude Code's billing header",
    "claude-code-git-status": "Claude Code's Git status",
    "todays-date": "today's date",
    "current-date": "the current date",
    "current-date-and-time": "the current date and time",
    "goose-date": "goose's date",
    "kimi-cli-date": "Kimi CLI's date",
    "home-assistant-clock": "Home Assistant's clock",
    "session-id": "the session's id",
    "removed-lines": "lines of the setting removed-lines",
    "moved-lines": "lines of the setting moved-lines",
  },
};

/** Cause for which no more was reused. */
type Cause =
  | "complete"
  | "never_seen"
  | "template_changed"
  | "messages_left_out"
  | "evicted"
  | "expired"
  | "computed_otherwise"
  | "rejected"
  | "breaker_open"
  | "not_worth_loading"
  | "not_brought"
  | "partial_block"
  | "off";

/** Sentences about the causes. Other causes are possible, too. */
export type Causes = Record<Cause, string> & Partial<Record<string, string>>;

export type ReceiptTexts = typeof texts;
