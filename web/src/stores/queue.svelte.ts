import { untrack } from "svelte";

import type { Chat } from "./chat.svelte";
import type { Drafts } from "./drafts.svelte";

const KEY = "ebb-queued:";

/**
 * Whether the open chat's draft is queued as the next message. The draft stays where drafts are, so the message survives a
 * reload. The mark stays in the tab: two tabs must not send the same message.
 */
export class Queue {
  /** waiting: sent when the answer is complete. held: the answer ended otherwise, or unseen, so the person decides. */
  state = $state<"none" | "waiting" | "held">("none");

  private chatId: string | null = null;
  private answering = false;
  /** Whether the person stops the answer to send the message. */
  private urgent = false;

  constructor(
    private readonly chat: Pick<Chat, "id" | "phase" | "messages">,
    private readonly drafts: Pick<Drafts, "text" | "files">,
  ) {}

  /** Whether the queued message is here. After a reload its text arrives a moment later. */
  get shown(): boolean {
    return this.state !== "none" && (this.drafts.text.trim() !== "" || this.drafts.files.length > 0);
  }

  /** Queue the draft until the answer ends. */
  add(): void {
    if (this.chat.phase !== "answering" || this.chat.id === null) return;
    this.state = "waiting";
    sessionStorage.setItem(KEY + this.chat.id, "");
  }

  /** Send the message when the answer ends, however it ends. */
  hurry(): void {
    this.urgent = true;
  }

  /** Take the message out of the queue. The draft stays. */
  clear(): void {
    this.state = "none";
    this.urgent = false;
    if (this.chatId !== null) sessionStorage.removeItem(KEY + this.chatId);
  }

  /** Call `send` when an answer is complete for which a message waits. Return the function that stops this. */
  follow(send: () => void): () => void {
    return $effect.root(() => {
      $effect(() => {
        const { id, phase } = this.chat;
        untrack(() => {
          if (id !== this.chatId) this.open(id);
          if (phase === "answering") this.answering = true;
          if (phase === "idle") this.onIdle(send);
        });
      });
    });
  }

  /** Forget the queued messages of all chats. */
  forget(): void {
    this.state = "none";
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(KEY)) sessionStorage.removeItem(key);
  }

  private open(id: string | null): void {
    this.chatId = id;
    this.answering = false;
    this.urgent = false;
    this.state = id !== null && sessionStorage.getItem(KEY + id) !== null ? "waiting" : "none";
  }

  private onIdle(send: () => void): void {
    const { answering } = this;
    this.answering = false;
    if (this.state !== "waiting") return;
    this.state = "held";
    const ended = this.urgent || this.chat.messages.at(-1)?.status === "complete";
    this.urgent = false;
    if (!answering || !this.shown || !ended) return;
    this.clear();
    send();
  }
}
