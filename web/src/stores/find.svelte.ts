import type { ApiClient } from "../services/api/client";
import type { FoundOnPath } from "../services/api/types";

const PAUSE_MS = 200;

/** One of the places where a text was found. */
export interface Match {
  messageId: string;
  /** How many other places of the message precede it. */
  nth: number;
}

/** The finding of a text in the open chat, in all messages of the shown path. */
export class FindInChat {
  /** Whether the field is shown. */
  shown = $state(false);
  query = $state("");
  /** Error of the last request; null after one that succeeded. */
  failure = $state.raw<unknown>(null);
  /** Number of the current place, from 0 on. */
  at = $state(0);
  /** Whether the server has answered for the query. */
  answered = $state(false);
  private found = $state.raw<readonly FoundOnPath[]>([]);
  private request = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly api: Pick<ApiClient, "find">) {}

  /** Number of places where the query was found. */
  readonly total = $derived(this.found.reduce((sum, { count }) => sum + count, 0));

  readonly current = $derived.by((): Match | null => {
    let nth = this.at;
    for (const { message_id: messageId, count } of this.found) {
      if (nth < count) return { messageId, nth };
      nth -= count;
    }
    return null;
  });

  /** Find another text once the person pauses. */
  type(query: string, chatId: string): void {
    this.query = query;
    this.stop();
    this.answered = false;
    this.timer = setTimeout(() => void this.find(chatId), PAUSE_MS);
  }

  /** Find the query again, in a chat that may have changed. The current place stays as far as it is there. */
  async find(chatId: string): Promise<void> {
    this.stop();
    const { signal } = (this.request = new AbortController());
    const { query, answered } = this;
    let current: Match | null = null;
    try {
      const found = query.trim() === "" ? [] : await this.api.find(chatId, query, signal);
      if (signal.aborted) return;
      // The person may have gone on while the server looked.
      if (answered) ({ current } = this);
      this.found = found;
      this.failure = null;
    } catch (error) {
      if (signal.aborted) return;
      this.found = [];
      this.failure = error;
    }
    this.answered = query.trim() !== "";
    // The newest place first: the chat is shown at its end.
    this.at = (current !== null ? this.placeOf(current) : null) ?? Math.max(0, this.total - 1);
  }

  /** Go to the next place, or to the one before, and round at the ends. */
  step(by: 1 | -1): void {
    if (this.total > 0) this.at = (this.at + by + this.total) % this.total;
  }

  /** Hide the field. The query stays for the next time. */
  close(): void {
    this.stop();
    this.shown = false;
    this.answered = false;
    this.found = [];
  }

  private placeOf({ messageId, nth }: Match): number | null {
    const index = this.found.findIndex(({ message_id }) => message_id === messageId);
    if (index < 0) return null;
    const before = this.found.slice(0, index).reduce((sum, { count }) => sum + count, 0);
    return before + Math.min(nth, this.found[index]!.count - 1);
  }

  private stop(): void {
    clearTimeout(this.timer);
    this.request.abort();
  }
}
