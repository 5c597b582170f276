import type { PromptSize } from "../services/api/types";
import type { Chat } from "./chat.svelte";
import type { Models } from "./models.svelte";

/** Number of messages searched for the last usage. An imported chat has none, and would be searched as a whole. */
const RECENT = 20;

/** Use of the model's context window by the open chat and its draft. */
export class ContextUse {
  /** Size of the prompt that the draft would make; null without a draft, and until the draft is counted. */
  measured = $state.raw<PromptSize | null>(null);

  constructor(
    private readonly chat: Pick<Chat, "messages">,
    private readonly models: Pick<Models, "facts">,
  ) {}

  /** Tokens in use and size of the window; null if either is unknown. used: null if it is too large to be counted. */
  get current(): { used: number | null; window: number } | null {
    if (this.measured !== null) return { used: this.measured.tokens, window: this.measured.window };
    const window = this.models.facts?.max_model_len;
    const used = this.chat.messages.slice(-RECENT).findLast(({ usage }) => usage !== null)?.usage?.total_tokens;
    return window !== undefined && used !== undefined ? { used, window } : null;
  }

  /** Messages at the beginning of the chat without which the draft would fit; null if it fits, and if none are enough. */
  get leavable(): number | null {
    return this.over ? (this.measured?.left_out ?? null) : null;
  }

  /** Whether the draft does not fit into the window with its chat. */
  get over(): boolean {
    if (this.measured === null) return false;
    const { tokens, window } = this.measured;
    return tokens === null || tokens >= window;
  }
}
