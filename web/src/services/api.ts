import { ApiError, UnreachableError } from "./errors";
import type {
  Conversation,
  ConversationChanges,
  ConversationPage,
  ConversationTree,
  ConversationWithMessages,
  Draft,
  Found,
  Health,
  Imported,
  Login,
  Message,
  NewMessage,
  Place,
  ReuseReport,
} from "./types";

/** The server's HTTP API, one method per route. Rejects with ApiError, UnreachableError or AbortError. */
export class Api {
  constructor(
    /** Told when the server demands a key that this page has not. */
    private readonly onLoggedOut: () => void = () => undefined,
  ) {}

  login(): Promise<Login> {
    return this.json("/api/login");
  }

  /** Gives the key for a cookie. */
  logIn(key: string): Promise<Login> {
    return this.json("/api/login", body("POST", { key }));
  }

  async logOut(): Promise<void> {
    await this.request("/api/logout", { method: "POST" });
  }

  async health(signal?: AbortSignal): Promise<Health> {
    const response = await this.request("/health", signal ? { signal } : {});
    return (await response.json()) as Health;
  }

  /** All of them, or all in the archive, page by page. */
  async conversations(archived = false): Promise<Conversation[]> {
    const all: Conversation[] = [];
    let cursor: string | null = null;
    do {
      const place: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const page: ConversationPage = await this.json(`/api/conversations?limit=500&archived=${archived}${place}`);
      all.push(...page.data);
      cursor = page.next_cursor;
    } while (cursor !== null);
    return all;
  }

  conversation(id: string, signal?: AbortSignal): Promise<ConversationWithMessages> {
    return this.json(`/api/conversations/${encodeURIComponent(id)}`, signal ? { signal } : {});
  }

  tree(id: string): Promise<ConversationTree> {
    return this.json(`/api/conversations/${encodeURIComponent(id)}/tree`);
  }

  createConversation(changes: ConversationChanges): Promise<Conversation> {
    return this.json("/api/conversations", body("POST", changes));
  }

  changeConversation(id: string, changes: ConversationChanges): Promise<Conversation> {
    return this.json(`/api/conversations/${encodeURIComponent(id)}`, body("PATCH", changes));
  }

  async deleteConversation(id: string): Promise<void> {
    await this.request(`/api/conversations/${encodeURIComponent(id)}`, { method: "DELETE" });
  }

  /** Takes a deletion back; possible for ten minutes. */
  restoreConversation(id: string): Promise<Conversation> {
    return this.json(`/api/conversations/${encodeURIComponent(id)}/restore`, { method: "POST" });
  }

  /** Starts a run; the response is its event stream. The same message sent again leads to the same run. */
  sendMessage(conversationId: string, message: NewMessage, signal: AbortSignal): Promise<Response> {
    const path = `/api/conversations/${encodeURIComponent(conversationId)}/messages`;
    return this.request(path, { ...body("POST", message), signal });
  }

  /** Starts a run that answers the same user message anew, as the message `id`; the response is its event stream. */
  retryMessage(messageId: string, id: string, signal: AbortSignal): Promise<Response> {
    return this.request(`/api/messages/${encodeURIComponent(messageId)}/retry`, { ...body("POST", { id }), signal });
  }

  /** Starts a run that goes on with an answer that was cut; the response is its event stream. */
  continueMessage(messageId: string, signal: AbortSignal): Promise<Response> {
    return this.request(`/api/messages/${encodeURIComponent(messageId)}/continue`, { method: "POST", signal });
  }

  /** Shows the branch of a message: the newest leaf below it becomes the head. */
  showBranch(conversationId: string, messageId: string, signal: AbortSignal): Promise<Conversation> {
    const path = `/api/conversations/${encodeURIComponent(conversationId)}/head`;
    return this.json(path, { ...body("PUT", { message_id: messageId }), signal });
  }

  /** Samples of the whole server, behind the event `lastEventId`; without one, what is kept of the last minutes first. */
  live(lastEventId: string | null, signal: AbortSignal): Promise<Response> {
    return this.follow("/api/live", lastEventId, signal);
  }

  /** Follows a run after the event `lastEventId`; without one the stream begins with a snapshot. 204: nothing more. */
  runEvents(runId: string, lastEventId: string | null, signal: AbortSignal): Promise<Response> {
    return this.follow(`/api/runs/${encodeURIComponent(runId)}/events`, lastEventId, signal);
  }

  cancelRun(runId: string): Promise<Message> {
    return this.json(`/api/runs/${encodeURIComponent(runId)}/cancel`, { method: "POST" });
  }

  /** Why not more of its prompt was reused. */
  reuse(runId: string): Promise<ReuseReport> {
    return this.json(`/api/runs/${encodeURIComponent(runId)}/kv`);
  }

  /** Titles and messages that have all words of `query`. */
  search(query: string, signal: AbortSignal): Promise<Found> {
    return this.json(`/api/search?q=${encodeURIComponent(query)}`, { signal });
  }

  /** What is typed and not sent; null: on the empty page. */
  draft(conversationId: string | null): Promise<Draft> {
    return this.json(draftPath(conversationId));
  }

  putDraft(conversationId: string | null, text: string): Promise<Draft> {
    return this.json(draftPath(conversationId), body("PUT", { text }));
  }

  /** Where the KV of chats is, of those that there are. */
  async places(conversationIds: readonly string[]): Promise<[string, Place][]> {
    const init = body("POST", { conversation_ids: conversationIds });
    const { data } = await this.json<{ data: { conversation_id: string; place: Place }[] }>("/api/places", init);
    return data.map(({ conversation_id, place }) => [conversation_id, place]);
  }

  /** Says that somebody may ask something there soon; whether its KV is being brought up. */
  async warm(conversationId: string): Promise<boolean> {
    const path = `/api/conversations/${encodeURIComponent(conversationId)}/warm`;
    return (await this.json<{ warming: boolean }>(path, { method: "POST" })).warming;
  }

  /** Takes that back. */
  async leave(conversationId: string): Promise<void> {
    await this.request(`/api/conversations/${encodeURIComponent(conversationId)}/warm`, { method: "DELETE" });
  }

  /** How many tokens a text has for the model. */
  async countTokens(text: string): Promise<number> {
    const init = body("POST", { prompt: text, add_special_tokens: false });
    return (await this.json<{ count: number }>("/tokenize", init)).count;
  }

  /** Conversations of a file, as its text. */
  importFile(text: string): Promise<Imported> {
    return this.json("/api/import", { method: "POST", headers: { "Content-Type": "application/json" }, body: text });
  }

  private follow(path: string, lastEventId: string | null, signal: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (lastEventId !== null) headers["Last-Event-ID"] = lastEventId;
    return this.request(path, { headers, signal, cache: "no-store" });
  }

  private async json<T>(path: string, init: RequestInit = {}): Promise<T> {
    const response = await this.request(path, init);
    return (await response.json()) as T;
  }

  private async request(path: string, init: RequestInit): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(path, init);
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw new UnreachableError(error);
    }
    if (response.status === 401) this.onLoggedOut();
    if (!response.ok) throw await ApiError.from(response);
    return response;
  }
}

/** Where the browser fetches a chat as a file from. */
export function exportPath(conversationId: string, format: "json" | "markdown"): string {
  return `/api/conversations/${encodeURIComponent(conversationId)}/export?format=${format}`;
}

export const EXPORT_ALL_PATH = "/api/export";

function draftPath(conversationId: string | null): string {
  return conversationId === null ? "/api/draft" : `/api/conversations/${encodeURIComponent(conversationId)}/draft`;
}

function body(method: string, value: unknown): RequestInit {
  return { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) };
}
