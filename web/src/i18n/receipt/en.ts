/** English texts for the details of a receipt. */
export const en = {
  computed: (total: string) => `${total} ${total === "1" ? "token" : "tokens"} computed`,
  first: (tokens: string, total: string, from: string) => `${tokens} of ${total} tokens from ${from}`,
  other: (tokens: string, from: string) => `${tokens} from ${from}`,
  and: (parts: readonly string[]) => (parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`),
  firstToken: (time: string) => `first token ${time}`,
  insteadOf: (time: string) => ` instead of about ${time}`,
  speed: (tokens: string) => `${tokens} tokens/s`,
  prompt: "Prompt",
  recomputed: "Computed",
  typed: (from: string) => `Restored from ${from} while you typed`,
  phases: { queue: "Queued", lookup: "Cache lookup", load: "Loaded cached blocks", prefill: "Computed" },
  timeToFirstToken: "Time to first token",
  answer: "Answer",
  rate: "Speed",
  total: "Total",
  why: "Why wasn't more reused?",
  looking: "Loading the explanation…",
  failed: "Couldn't load the explanation.",
  reused: (until: string, reusable: string) =>
    until === reusable ? `All ${until} cached tokens were reused; the rest is new.` : `${until} of ${reusable} cached tokens were reused.`,
  cause: (_cause: string, explanation: string) => explanation,
  advanced: "Advanced",
  diverges: (at: string) => `At token ${at} this prompt diverges:`,
  goesOn: (at: string) => `Everything up to token ${at} was cached. Then came:`,
  here: "here",
  before: "before",
  end: "(end)",
  verified: (blocks: string) => (blocks === "1" ? "One block from a lower tier was verified." : `${blocks} blocks from lower tiers were verified.`),
  removedLines: (names: readonly string[]) => `Left out, to keep the system prompt stable: ${en.and(names)}`,
  movedLines: (names: readonly string[]) => `Moved to the first message, to keep the system prompt stable: ${en.and(names)}`,

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
    "removed-lines": "lines of the setting removed-lines",
    "moved-lines": "lines of the setting moved-lines",
  },
};

export type ReceiptTexts = typeof en;
