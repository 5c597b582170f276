import type { Chat } from "./chat.svelte";
import type { HealthStore } from "./health.svelte";

/** Number of messages searched for the last usage. An imported chat has none, and would be searched as a whole. */
const RECENT = 20;

/** Use of the model's context window by the open chat. */
export class ContextUse {
  constructor(
    private readonly chat: Pick<Chat, "messages">,
    private readonly health: Pick<HealthStore, "current">,
  ) {}

  /** Tokens in use and size of the window; null if either is unknown. */
  get current(): { used: number; window: number } | null {
    const window = this.health.current?.model?.max_model_len;
    const used = this.chat.messages.slice(-RECENT).findLast(({ usage }) => usage !== null)?.usage?.total_tokens;
    return window !== undefined && used !== undefined ? { used, window } : null;
  }
}
