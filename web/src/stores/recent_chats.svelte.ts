import type { ApiClient } from "../services/api/client";
import type { Conversation } from "../services/api/types";

/** Number of recent conversations that the empty page shows. */
const MAX_RECENT = 4;
/** Number that is kept, in case some of them are opened or deleted. */
const MAX_KEPT = 8;

/** The newest chats outside the archive, in whatever folder. */
export class RecentChats {
  private newest = $state.raw<readonly Conversation[] | null>(null);

  constructor(private readonly api: ApiClient) {}

  /** Read them. Rejects like the API, and then keeps the former ones. */
  async load(): Promise<void> {
    // Pinned chats come first in every list, so each kind is asked for.
    const kinds = (["true", "false"] as const).map((pinned) => this.api.conversations({ pinned }, 0, MAX_KEPT));
    this.newest = newestOf((await Promise.all(kinds)).flatMap(({ data }) => data));
  }

  /** Return the newest chats but `open`; null until they are known. */
  but(open: string | null): Conversation[] | null {
    return this.newest?.filter(({ id }) => id !== open).slice(0, MAX_RECENT) ?? null;
  }

  /** Add or update a chat. */
  put(conversation: Conversation): void {
    const others = this.newest?.filter(({ id }) => id !== conversation.id) ?? null;
    if (others === null) return;
    const isShown = !conversation.archived && !conversation.temporary;
    this.newest = isShown ? newestOf([conversation, ...others]) : others;
  }

  drop(id: string): void {
    this.newest = this.newest?.filter((each) => each.id !== id) ?? null;
  }
}

function newestOf(chats: readonly Conversation[]): Conversation[] {
  return chats.toSorted((a, b) => b.updated_at - a.updated_at).slice(0, MAX_KEPT);
}
