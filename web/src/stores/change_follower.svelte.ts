import type { ApiClient } from "../services/api/client";
import { ApiError } from "../services/api/errors";
import { backOff, readMessages } from "../services/api/event_stream";
import type { EventOf } from "../services/api/http";
import { channelOf } from "../services/browser_storage";
import type { Activity } from "./activity.svelte";
import type { Chat } from "./chat.svelte";
import type { Conversations } from "./conversations.svelte";
import type { Refresh } from "./refresh.svelte";
import type { Session } from "./session.svelte";

type Change = EventOf<"get", "/api/events">;

/** The stores that changes reach. */
export interface FollowedStores {
  api: ApiClient;
  activity: Activity;
  chat: Chat;
  conversations: Conversations;
  refresh: Refresh;
}

/** Name of the lock that the following tab holds, and of the channel to the others. */
const NAME = "ebb-changes";

/**
 * Follower of changes that other browsers make. Among the tabs of a browser, one holds the stream, and sends its events to
 * the others: a browser has few connections to a server. Without locks (no secure context), each visible page follows.
 */
export class ChangeFollower {
  /** Called in one tab with the chat in which an answer has ended. */
  onAnswer: (id: string) => void = () => undefined;

  constructor(private readonly ebb: FollowedStores) {}

  /** Follow while the person is not logged out. Return the function that stops this. */
  followSession(session: Pick<Session, "out">): () => void {
    return $effect.root(() => {
      $effect(() => (session.out ? undefined : this.start()));
    });
  }

  /** Start following. Return the function that stops this. */
  start(): () => void {
    const stopping = new AbortController();
    const channel = channelOf(NAME);
    channel?.addEventListener("message", ({ data }: MessageEvent<Change>) => {
      if (data.event === "opened") this.ebb.refresh.onFollowed();
      this.apply(data);
    });
    const receive = (change: Change) => {
      channel?.postMessage(change);
      for (const id of this.apply(change)) this.onAnswer(id);
    };
    if ("locks" in navigator) {
      const { signal } = stopping;
      this.followInTurn(receive, signal).catch((error: unknown) => {
        // Locks are blocked along with cookies.
        if (error instanceof DOMException && error.name === "SecurityError") this.followWhileVisible(receive, signal);
      });
    } else this.followWhileVisible(receive, stopping.signal);
    return () => {
      stopping.abort();
      channel?.close();
    };
  }

  /** Follow as soon as no other tab does. */
  private async followInTurn(receive: (change: Change) => void, signal: AbortSignal): Promise<void> {
    const isFirst = await navigator.locks.request(NAME, { ifAvailable: true }, async (lock) => {
      if (lock !== null) await this.follow(receive, signal);
      return lock !== null;
    });
    if (isFirst) return;
    this.ebb.refresh.waitNoLonger();
    await navigator.locks.request(NAME, { signal }, () => this.follow(receive, signal));
  }

  private followWhileVisible(receive: (change: Change) => void, signal: AbortSignal): void {
    let leaving: AbortController | null = null;
    const onVisibility = () => {
      leaving?.abort();
      leaving = document.visibilityState === "visible" ? new AbortController() : null;
      if (leaving !== null) void this.follow(receive, leaving.signal).catch(() => undefined);
    };
    document.addEventListener("visibilitychange", onVisibility, { signal });
    signal.addEventListener("abort", () => leaving?.abort());
    onVisibility();
  }

  private async follow(receive: (change: Change) => void, signal: AbortSignal): Promise<void> {
    let failures = 0;
    for (;;) {
      try {
        const response = await this.ebb.api.changes(signal);
        // The server notes every change from the headers on. The first event may have to wait for the script that reads it.
        this.ebb.refresh.onFollowed();
        for await (const { event, data } of readMessages(response, signal)) {
          failures = 0;
          if (event !== "server_restart") receive({ event, data: JSON.parse(data) as unknown } as Change);
        }
      } catch (error) {
        signal.throwIfAborted();
        this.ebb.refresh.waitNoLonger();
        if (error instanceof ApiError && !error.transient) return;
      }
      await backOff(failures++, signal);
    }
  }

  /** Apply a change to the page. Return the chats in which an answer has ended. */
  private apply(change: Change): string[] {
    const { activity, chat, conversations, refresh } = this.ebb;
    if (change.event === "opened") return activity.renew(change.data.answering);
    if (change.event === "reload") refresh.rereadChats();
    else if (change.event === "gone") {
      conversations.drop(change.data.conversation_id);
      activity.forget(change.data.conversation_id);
    } else if (change.event === "conversation") {
      const { conversation, answering, answered } = change.data;
      const { id } = conversation;
      const known = conversations.find(id)?.version;
      conversations.put(conversation);
      if (chat.id === id && (known !== conversation.version || chat.messages.at(-1)?.id !== conversation.head_id)) {
        void chat.refresh();
      }
      activity.note(conversation, answering);
      return answered ? [id] : [];
    }
    return [];
  }
}
