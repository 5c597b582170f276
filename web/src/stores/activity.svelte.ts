import type { ApiClient } from "../services/api/client";
import type { Conversation } from "../services/api/types";
import type { Chat } from "./chat.svelte";

type Marked = Pick<Conversation, "id" | "unread">;

/** Chats in which an answer is being generated, and chats with an answer that the person has not seen in any browser. */
export class Activity {
  answering = $state.raw<ReadonlySet<string>>(new Set());
  unread = $state.raw<ReadonlySet<string>>(new Set());

  constructor(private readonly api: Pick<ApiClient, "see">) {}

  /** Mark the open chat as seen while the page is visible. Return the function that stops this. */
  start(chat: Pick<Chat, "id">): () => void {
    const see = () => {
      if (document.visibilityState !== "visible" || chat.id === null || !this.unread.has(chat.id)) return;
      this.unread = without(this.unread, chat.id);
      // If the server was not reached, the next list has the mark again.
      void this.api.see(chat.id).catch(() => undefined);
    };
    document.addEventListener("visibilitychange", see);
    const stop = $effect.root(() => {
      $effect(see);
    });
    return () => {
      document.removeEventListener("visibilitychange", see);
      stop();
    };
  }

  /** Note a change of a chat: whether an answer is being generated in it, and whether an answer is unread. */
  note(chat: Marked, answering: boolean): void {
    const { id, unread } = chat;
    if (answering) this.answering = new Set(this.answering).add(id);
    else if (this.answering.has(id)) this.answering = without(this.answering, id);
    if (unread !== this.unread.has(id)) this.list([chat]);
  }

  /**
   * Note all chats in which an answer is being generated, after changes may have been missed. Return the chats whose answer
   * has ended since the last change that arrived.
   */
  renew(answering: readonly string[]): string[] {
    const before = this.answering;
    this.answering = new Set(answering);
    return [...before].filter((id) => !this.answering.has(id));
  }

  /** Note which of some chats have an unread answer. */
  list(chats: readonly Marked[]): void {
    const listed = new Set(chats.map(({ id }) => id));
    const others = [...this.unread].filter((id) => !listed.has(id));
    this.unread = new Set([...others, ...chats.filter(({ unread }) => unread).map(({ id }) => id)]);
  }

  /** Forget a chat that was deleted. */
  forget(id: string): void {
    this.answering = without(this.answering, id);
    this.unread = without(this.unread, id);
  }
}

function without(ids: ReadonlySet<string>, id: string): ReadonlySet<string> {
  return new Set([...ids].filter((other) => other !== id));
}
