import { ApiError } from "./errors";
import { address, request, type Answer, type Call, type Method, type PathOf } from "./http";
import type {
  Conversation,
  ConversationChanges,
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
export class ApiClient {
  constructor(
    /** Told when the server demands a key that this page has not. */
    private readonly onLoggedOut: () => void = () => undefined,
  ) {}

  login(): Promise<Login> {
    return this.json("get", "/api/login", {});
  }

  /** Gives the key for a cookie. */
  logIn(key: string): Promise<Login> {
    return this.json("post", "/api/login", { body: { key } });
  }

  async logOut(): Promise<void> {
    await this.request("post", "/api/logout", {});
  }

  health(signal?: AbortSignal): Promise<Health> {
    return this.json("get", "/health", { signal });
  }

  /** All of them, or all in the archive, page by page. */
  async conversations(archived = false): Promise<Conversation[]> {
    const all: Conversation[] = [];
    let cursor: string | null = null;
    do {
      const query = { limit: 500, archived: archived ? "true" : "false", ...(cursor === null ? {} : { cursor }) } as const;
      const page: Answer<"get", "/api/conversations"> = await this.json("get", "/api/conversations", { query });
      all.push(...page.data);
      cursor = page.next_cursor;
    } while (cursor !== null);
    return all;
  }

  conversation(id: string, signal?: AbortSignal): Promise<ConversationWithMessages> {
    return this.json("get", "/api/conversations/{id}", { path: { id }, signal });
  }

  tree(id: string): Promise<ConversationTree> {
    return this.json("get", "/api/conversations/{id}/tree", { path: { id } });
  }

  createConversation(changes: ConversationChanges): Promise<Conversation> {
    return this.json("post", "/api/conversations", { body: changes });
  }

  changeConversation(id: string, changes: ConversationChanges): Promise<Conversation> {
    return this.json("patch", "/api/conversations/{id}", { path: { id }, body: changes });
  }

  async deleteConversation(id: string): Promise<void> {
    await this.request("delete", "/api/conversations/{id}", { path: { id } });
  }

  /** Takes a deletion back; possible for ten minutes. */
  restoreConversation(id: string): Promise<Conversation> {
    return this.json("post", "/api/conversations/{id}/restore", { path: { id } });
  }

  /** Starts a run; the response is its event stream. The same message sent again leads to the same run. */
  sendMessage(conversationId: string, message: NewMessage, signal: AbortSignal): Promise<Response> {
    const path = { id: conversationId };
    return this.request("post", "/api/conversations/{id}/messages", { path, body: message, signal });
  }

  /** Starts a run that answers the same user message anew, as the message `id`; the response is its event stream. */
  retryMessage(messageId: string, id: string, signal: AbortSignal): Promise<Response> {
    return this.request("post", "/api/messages/{id}/retry", { path: { id: messageId }, body: { id }, signal });
  }

  /** Starts a run that goes on with an answer that was cut; the response is its event stream. */
  continueMessage(messageId: string, signal: AbortSignal): Promise<Response> {
    return this.request("post", "/api/messages/{id}/continue", { path: { id: messageId }, signal });
  }

  /** Shows the branch of a message: the newest leaf below it becomes the head. */
  showBranch(conversationId: string, messageId: string, signal: AbortSignal): Promise<Conversation> {
    const body = { message_id: messageId };
    return this.json("put", "/api/conversations/{id}/head", { path: { id: conversationId }, body, signal });
  }

  /** A new conversation with copies of what leads to a message. */
  forkConversation(conversationId: string, messageId: string): Promise<Conversation> {
    const body = { message_id: messageId };
    return this.json("post", "/api/conversations/{id}/fork", { path: { id: conversationId }, body });
  }

  /** Hides a message with all that follows it. */
  deleteMessage(messageId: string): Promise<Conversation> {
    return this.json("delete", "/api/messages/{id}", { path: { id: messageId } });
  }

  /** Takes that back, and shows it; possible for ten minutes. */
  restoreMessage(messageId: string): Promise<Conversation> {
    return this.json("post", "/api/messages/{id}/restore", { path: { id: messageId } });
  }

  /** Samples of the whole server, behind the event `lastEventId`; without one, what is kept of the last minutes first. */
  live(lastEventId: string | null, signal: AbortSignal): Promise<Response> {
    return this.request("get", "/api/live", following(lastEventId, signal));
  }

  /** Follows a run after the event `lastEventId`; without one the stream begins with a snapshot. 204: nothing more. */
  runEvents(runId: string, lastEventId: string | null, signal: AbortSignal): Promise<Response> {
    return this.request("get", "/api/runs/{id}/events", { path: { id: runId }, ...following(lastEventId, signal) });
  }

  cancelRun(runId: string): Promise<Message> {
    return this.json("post", "/api/runs/{id}/cancel", { path: { id: runId } });
  }

  /** Why not more of its prompt was reused. */
  reuse(runId: string): Promise<ReuseReport> {
    return this.json("get", "/api/runs/{id}/kv", { path: { id: runId } });
  }

  /** Titles and messages that have all words of `query`. */
  search(query: string, signal: AbortSignal): Promise<Found> {
    return this.json("get", "/api/search", { query: { q: query }, signal });
  }

  /** What is typed and not sent; null: on the empty page. */
  draft(conversationId: string | null): Promise<Draft> {
    if (conversationId === null) return this.json("get", "/api/draft", {});
    return this.json("get", "/api/conversations/{id}/draft", { path: { id: conversationId } });
  }

  putDraft(conversationId: string | null, text: string): Promise<Draft> {
    if (conversationId === null) return this.json("put", "/api/draft", { body: { text } });
    return this.json("put", "/api/conversations/{id}/draft", { path: { id: conversationId }, body: { text } });
  }

  /** Where the KV of chats is, of those that there are. */
  async places(conversationIds: readonly string[]): Promise<[string, Place][]> {
    const { data } = await this.json("post", "/api/places", { body: { conversation_ids: [...conversationIds] } });
    return data.map(({ conversation_id, place }) => [conversation_id, place]);
  }

  /** Says that somebody may ask something there soon; whether its KV is being brought up. */
  async warm(conversationId: string): Promise<boolean> {
    return (await this.json("post", "/api/conversations/{id}/warm", { path: { id: conversationId } })).warming;
  }

  /** Takes that back. */
  async leave(conversationId: string): Promise<void> {
    await this.request("delete", "/api/conversations/{id}/warm", { path: { id: conversationId } });
  }

  /** How many tokens a text has for the model. */
  async countTokens(text: string): Promise<number> {
    return (await this.json("post", "/tokenize", { body: { prompt: text, add_special_tokens: false } })).count;
  }

  /** Conversations of a file, as its text. */
  importFile(text: string): Promise<Imported> {
    return this.json("post", "/api/import", { text });
  }

  private async json<M extends Method, P extends PathOf<M>>(method: M, path: P, call: Call<M, P>): Promise<Answer<M, P>> {
    const response = await this.request(method, path, call);
    return (await response.json()) as Answer<M, P>;
  }

  private async request<M extends Method, P extends PathOf<M>>(method: M, path: P, call: Call<M, P>): Promise<Response> {
    try {
      return await request(method, path, call);
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) this.onLoggedOut();
      throw error;
    }
  }
}

/** Where the browser fetches a chat as a file from. */
export function exportPath(conversationId: string, format: "json" | "markdown"): string {
  const call: Call<"get", "/api/conversations/{id}/export"> = { path: { id: conversationId }, query: { format } };
  return address("/api/conversations/{id}/export" satisfies PathOf<"get">, call);
}

export const EXPORT_ALL_PATH = "/api/export" satisfies PathOf<"get">;

function following(lastEventId: string | null, signal: AbortSignal) {
  const headers: Record<string, string> = { Accept: "text/event-stream" };
  if (lastEventId !== null) headers["Last-Event-ID"] = lastEventId;
  return { headers, signal, cache: "no-store" } as const;
}
