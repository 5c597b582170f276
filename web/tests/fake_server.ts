import { ApiClient } from "../src/services/api/client";
import { ApiError } from "../src/services/api/errors";
import type { ChatFilter, ChatPage, Conversation, ConversationWithMessages, Folder, Folders, Health, Message, NewChat, NewMessage, Retry } from "../src/services/api/types";

/** Event stream that a test writes: numbered events, then an end, a break, or neither. */
export class Wire {
  private controller!: ReadableStreamDefaultController<Uint8Array>;
  readonly response: Response;

  constructor(private readonly runId = "run_1") {
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void (this.controller = controller) });
    this.response = new Response(body, { headers: { "X-Run-Id": runId } });
  }

  send(sequence: number, event: string, data: object): this {
    const json = JSON.stringify({ ...data, sequence_number: sequence });
    return this.bytes(new TextEncoder().encode(`id: ${this.runId}:0.${sequence}\nevent: ${event}\ndata: ${json}\n\n`));
  }

  bytes(chunk: Uint8Array): this {
    this.controller.enqueue(chunk);
    return this;
  }

  end(): this {
    this.controller.close();
    return this;
  }

  break(): this {
    this.controller.error(new TypeError("network error"));
    return this;
  }
}

/** API client with responses that a test sets. Records requests and the cursors of followed runs. */
export class FakeApi extends ApiClient {
  cursors: (string | null)[] = [];
  followed: (Response | Error)[] = [];
  sent: (Response | Error)[] = [];
  cancelled: string[] = [];
  seen: string[] = [];
  asked: NewMessage[] = [];
  retried: [string, string][] = [];
  retriedWith: Retry[] = [];
  continued: string[] = [];
  shown: string[] = [];
  stored: ConversationWithMessages = { ...conversation(), messages: [] };
  status: Health["status"] = "ok";
  /** The chats and the folders that the server has. */
  chats: Conversation[] = [];
  storedFolders: Folder[] = [];
  /** Names of the models; null for one. */
  modelNames: string[] | null = null;
  /** Places of the pages that were read. */
  listPages: [offset: number, limit: number][] = [];

  override health(): Promise<Health> {
    return Promise.resolve({ status: this.status, version: "0", model: null, models: this.modelNames, starting: null, reason: null, reason_code: null, tiers: null, workers: null, replicas: null, unindexed: null, suggested_model: null });
  }

  override conversation(): Promise<ConversationWithMessages> {
    return Promise.resolve(this.stored);
  }

  override conversations(wanted: ChatFilter, offset: number, limit: number): Promise<ChatPage> {
    // The two pages of the recent chats are no pages of the list.
    if (wanted.pinned === undefined) this.listPages.push([offset, limit]);
    const all = this.chatsOf(wanted);
    return Promise.resolve({ data: all.slice(offset, offset + limit), total: all.length, next_cursor: null });
  }

  override async *allConversations(wanted: ChatFilter): AsyncGenerator<Conversation[]> {
    yield await Promise.resolve(this.chatsOf(wanted));
  }

  override folders(): Promise<Folders> {
    const counts: Record<string, number> = {};
    const shown = this.chatsOf({});
    for (const { folder_id } of shown) if (folder_id !== null) counts[folder_id] = (counts[folder_id] ?? 0) + 1;
    const tags = [...new Set(shown.flatMap((chat) => chat.tags))].sort();
    return Promise.resolve({ data: this.storedFolders, counts, tags });
  }

  private chatsOf({ archived = "false", pinned, shown_in, tag }: ChatFilter): Conversation[] {
    return this.chats
      .filter((chat) => `${chat.archived}` === archived && (pinned === undefined || `${chat.pinned}` === pinned))
      .filter((chat) => tag === undefined || chat.tags.includes(tag))
      .filter((chat) => shown_in === undefined || (shown_in === "top" ? chat.pinned || chat.folder_id === null : chat.folder_id === shown_in))
      .sort((a, b) => Number(b.pinned) - Number(a.pinned) || b.updated_at - a.updated_at || (a.id < b.id ? 1 : -1));
  }

  override createConversation(_chat: NewChat): Promise<Conversation> {
    return Promise.resolve(conversation());
  }

  override sendMessage(_conversationId: string, message: NewMessage): Promise<Response> {
    this.asked.push(message);
    return next(this.sent);
  }

  override retryMessage(messageId: string, id: string, _signal: AbortSignal, wanted: Retry = {}): Promise<Response> {
    this.retried.push([messageId, id]);
    this.retriedWith.push(wanted);
    return next(this.sent);
  }

  override continueMessage(messageId: string): Promise<Response> {
    this.continued.push(messageId);
    return next(this.sent);
  }

  override showBranch(_conversationId: string, messageId: string): Promise<Conversation> {
    this.shown.push(messageId);
    return Promise.resolve(conversation());
  }

  override runEvents(_runId: string, lastEventId: string | null): Promise<Response> {
    this.cursors.push(lastEventId);
    return next(this.followed);
  }

  override live(lastEventId: string | null): Promise<Response> {
    this.cursors.push(lastEventId);
    return next(this.followed);
  }

  override changes(): Promise<Response> {
    return next(this.followed);
  }

  override see(id: string): Promise<void> {
    this.seen.push(id);
    return Promise.resolve();
  }

  override cancelRun(runId: string): Promise<Message> {
    this.cancelled.push(runId);
    return Promise.resolve(message({ status: "cancelled", content: "part" }));
  }
}

function next(answers: (Response | Error)[]): Promise<Response> {
  const answer = answers.shift() ?? new ApiError(500, { message: "The test has no more answers" });
  return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
}

export function conversation(changes: Partial<Conversation> = {}): Conversation {
  return {
    id: "conv_1",
    title: "Tides",
    head_id: null,
    system_prompt: null,
    params: {},
    created_at: 1,
    updated_at: 1,
    source: "chat",
    metadata: {},
    title_source: "first_message",
    pinned: false,
    archived: false,
    version: 1,
    folder_id: null,
    tags: [],
    temporary: false,
    unread: false,
    ...changes,
  };
}

export function message(changes: Partial<Message> = {}): Message {
  return {
    id: "msg_2",
    conversation_id: "conv_1",
    parent_id: "msg_1",
    role: "assistant",
    content: "",
    status: "in_progress",
    finish_reason: null,
    error: null,
    usage: null,
    run_id: "run_1",
    params: null,
    reasoning: null,
    left_out: null,
    summary: null,
    rating: null,
    rating_note: null,
    merged: null,
    model: null,
    created_at: 1,
    completed_at: null,
    ...changes,
  };
}
