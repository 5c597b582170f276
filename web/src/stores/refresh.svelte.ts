import { untrack } from "svelte";

import type { Tabs } from "../services/browser/tabs";
import type { Chat } from "./chat.svelte";
import type { Conversations } from "./conversations.svelte";
import type { Drafts } from "./drafts.svelte";
import type { HealthStore } from "./health.svelte";
import type { Session } from "./session.svelte";

/** Longest wait of the first reading for the stream of changes. */
const PATIENCE_MS = 500;

/** Rereads of what other tabs and other devices may have changed. */
export class Refresh {
  private readonly online = $derived.by(() => this.health.reachable && this.health.current !== null && !this.session.out);

  /** Whether the first reading waits for the stream of changes. What is read before it would have to be read again. */
  private waits = $state(true);
  private wanted = false;
  private running: Promise<void> | null = null;

  constructor(
    private readonly health: HealthStore,
    private readonly session: Session,
    private readonly conversations: Conversations,
    private readonly chat: Chat,
    private readonly drafts: Drafts,
    private readonly tabs: Tabs,
  ) {}

  /**
   * Read as soon as changes are followed. Reread when the server becomes reachable, when the person returns to the page, and when another tab changed
   * something. Save what could not be saved. Return the function that stops this.
   */
  start(): () => void {
    const onReturn = () => this.onReturn();
    addEventListener("focus", onReturn);
    document.addEventListener("visibilitychange", onReturn);
    const stopListening = this.tabs.listen("changed", onReturn);
    const stopWatching = $effect.root(() => {
      $effect(() => {
        if (!this.online) return undefined;
        if (this.waits) {
          const timer = setTimeout(() => this.waitNoLonger(), PATIENCE_MS);
          return () => clearTimeout(timer);
        }
        return untrack(() => {
          this.rereadChats();
          this.drafts.saveAgain();
        });
      });
    });
    return () => {
      removeEventListener("focus", onReturn);
      document.removeEventListener("visibilitychange", onReturn);
      stopListening();
      stopWatching();
    };
  }

  /** Read what may have changed before the stream of changes began. */
  onFollowed(): void {
    if (this.waits) this.waitNoLonger();
    else this.rereadChats();
  }

  /** Read without the stream of changes, which another tab follows or which has failed. */
  waitNoLonger(): void {
    this.waits = false;
  }

  private onReturn(): void {
    if (document.visibilityState !== "visible" || !this.online || this.waits) return;
    this.rereadChats();
    void this.drafts.refresh();
  }

  /**
   * Reread the list of chats, and the open one unless the list shows that it is unchanged. All calls during a reading are
   * covered by one more.
   */
  rereadChats(): void {
    this.wanted = true;
    this.running ??= this.rereadWanted().finally(() => (this.running = null));
  }

  private async rereadWanted(): Promise<void> {
    while (this.wanted) {
      this.wanted = false;
      const isListed = await this.conversations.load().then(
        () => true,
        () => false,
      );
      void this.chat.refresh(isListed ? this.conversations.listed(this.chat.id) : undefined);
    }
  }
}
