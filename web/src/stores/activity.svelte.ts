import type { Chat } from "./chat.svelte";

/** Chats in which an answer is being generated, and chats with an answer that the person has not seen. */
export class Activity {
  answering = $state.raw<ReadonlySet<string>>(new Set());
  unread = $state.raw<ReadonlySet<string>>(new Set());

  /** Mark the open chat as seen while the page is visible. Return the function that stops this. */
  start(chat: Pick<Chat, "id">): () => void {
    const see = () => {
      if (document.visibilityState === "visible" && chat.id !== null && this.unread.has(chat.id)) {
        this.unread = without(this.unread, chat.id);
      }
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

  /** Note whether an answer is being generated in a chat. */
  note(id: string, answering: boolean): void {
    if (answering) this.answering = new Set(this.answering).add(id);
    else if (this.answering.has(id)) this.answering = without(this.answering, id);
  }

  /** Note all chats in which an answer is being generated, after changes may have been missed. */
  renew(answering: readonly string[], openId: string | null): void {
    const ended = [...this.answering].filter((id) => !answering.includes(id));
    this.answering = new Set(answering);
    for (const id of ended) this.ended(id, openId);
  }

  /** Mark the answer of a chat as not seen, unless the person is looking at it. */
  ended(id: string, openId: string | null): void {
    if (document.visibilityState !== "visible" || id !== openId) this.unread = new Set(this.unread).add(id);
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
