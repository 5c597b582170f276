import type { ApiClient } from "../services/api/client";
import type { Conversation, Rating } from "../services/api/types";

/** Ratings of answers on their way to the server. */
export class Ratings {
  /** For each conversation, the end of its last rating's request. */
  private readonly sent = new Map<string, Promise<unknown>>();

  constructor(private readonly api: Pick<ApiClient, "rateAnswer">) {}

  /** Send a rating after the earlier ones of its conversation, so that the server keeps the last one. Rejects like the API. */
  send(conversationId: string, answerId: string, rating: Rating | null, note: string | null): Promise<Conversation> {
    const sent = this.sendAfter(this.sent.get(conversationId), answerId, rating, note);
    this.sent.set(conversationId, sent.then(() => undefined, () => undefined));
    return sent;
  }

  /** Read a conversation, again if an answer in it was rated in the meantime: messages that were read earlier may lack the rating. */
  async readAfter<T>(conversationId: string, read: () => Promise<T>, signal: AbortSignal): Promise<T> {
    for (;;) {
      const rated = this.sent.get(conversationId);
      await rated;
      const found = await read();
      if (rated === this.sent.get(conversationId) || signal.aborted) return found;
    }
  }

  private async sendAfter(
    earlier: Promise<unknown> | undefined,
    answerId: string,
    rating: Rating | null,
    note: string | null,
  ): Promise<Conversation> {
    await earlier;
    return this.api.rateAnswer(answerId, rating, note);
  }
}
