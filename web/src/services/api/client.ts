import { AccountClient } from "./account_client";
import { withLinesCounted } from "./counted_lines";
import { addressOf, readAtOnce, type Call, type PathOf } from "./http";
import { readSummary } from "./summary_stream";
import type {
  BulkChanges,
  BulkResult,
  ChatFilter,
  ChatModel,
  ChatPage,
  ChatTier,
  Conversation,
  ConversationChanges,
  ConversationTree,
  ConversationWithMessages,
  DeletedConversationPage,
  DeletedMessagePage,
  Draft,
  Folder,
  FolderFields,
  Folders,
  FoundOnPath,
  Health,
  Imported,
  ImportPreview,
  KeptFile,
  KeptFileText,
  Message,
  MessagePage,
  NewChat,
  NewMessage,
  NewShare,
  Preset,
  PresetFields,
  PromptSize,
  Rating,
  Retry,
  ReuseReport,
  SavedPrompt,
  SearchParameters,
  SearchResponse,
  Share,
  PromisedChat,
} from "./types";

/** Client of the server's HTTP API, one method per route. Rejects with ApiError, UnreachableError or AbortError. */
export class ApiClient extends AccountClient {
  /** Follow the changes of all chats. */
  changes(signal: AbortSignal): Promise<Response> {
    return this.request("get", "/api/events", streamOptions(null, signal));
  }

  health(signal?: AbortSignal): Promise<Health> {
    return this.json("get", "/health", { signal });
  }

  /** Read a page of a list of chats, with their number. */
  conversations(wanted: ChatFilter, offset: number, limit: number): Promise<ChatPage> {
    return this.json("get", "/api/conversations", { query: { ...wanted, offset, limit } });
  }

  /** Read all chats of a list, page by page. */
  async *allConversations(wanted: ChatFilter): AsyncGenerator<Conversation[]> {
    let cursor: string | null = null;
    do {
      const query: ChatFilter & { limit: number; cursor?: string } = { ...wanted, limit: 500, ...(cursor === null ? {} : { cursor }) };
      const page: ChatPage = await this.json("get", "/api/conversations", { query });
      yield page.data;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }

  /** Read a chat with a page of its messages: those up to `to`, from `from` on, or at the end. */
  conversation(id: string, page: MessagePage, signal?: AbortSignal): Promise<ConversationWithMessages> {
    return this.json("get", "/api/conversations/{id}", { path: { id }, query: page, signal });
  }

  /** Read a chat with all its messages, and keep the page waiting: the browser prints what is there when its event ends. */
  wholeConversation(id: string): ConversationWithMessages | null {
    const path = addressOf("/api/conversations/{id}" satisfies PathOf<"get">, { path: { id } });
    return readAtOnce(path) as ConversationWithMessages | null;
  }

  tree(id: string): Promise<ConversationTree> {
    return this.json("get", "/api/conversations/{id}/tree", { path: { id } });
  }

  createConversation(chat: NewChat): Promise<Conversation> {
    return this.json("post", "/api/conversations", { body: chat });
  }

  changeConversation(id: string, changes: ConversationChanges): Promise<Conversation> {
    return this.json("patch", "/api/conversations/{id}", { path: { id }, body: changes });
  }

  /** Delete a chat. It can be restored for some time, unless it is deleted permanently. */
  async deleteConversation(id: string, permanently = false): Promise<void> {
    const query = permanently ? ({ permanently: "true" } as const) : {};
    await this.request("delete", "/api/conversations/{id}", { path: { id }, query });
  }

  /** Delete a chat permanently, unless it has changed since `version`. */
  async discardConversation(id: string, version: number): Promise<void> {
    const headers = { "If-Match": `"${version}"` };
    await this.request("delete", "/api/conversations/{id}", { path: { id }, query: { permanently: "true" }, headers });
  }

  /** Delete all chats, archived ones too, and return their number. They can be restored for some time. */
  async deleteAllConversations(): Promise<number> {
    return (await this.json("delete", "/api/conversations", {})).deleted;
  }

  /** Return when the last deleted chat was deleted, in Unix seconds; 0 without one. */
  async lastDeletion(): Promise<number> {
    const { data } = await this.json("get", "/api/deleted-conversations", { query: { limit: 1 } });
    return data[0]?.deleted_at ?? 0;
  }

  /** Read a page of the deleted chats that can be restored, the last deleted one first. The first page has their number. */
  deletedConversations(cursor: string | null, limit = 100, signal?: AbortSignal): Promise<DeletedConversationPage> {
    return this.json("get", "/api/deleted-conversations", { query: { limit, ...(cursor !== null && { cursor }) }, signal });
  }

  /** Read a page of the deleted messages that can be restored, the last deleted one first. */
  deletedMessages(cursor: string | null, signal?: AbortSignal): Promise<DeletedMessagePage> {
    return this.json("get", "/api/deleted-messages", { query: { ...(cursor !== null && { cursor }) }, signal });
  }

  /** Delete all deleted chats for good. */
  async eraseDeleted(): Promise<void> {
    await this.request("delete", "/api/deleted-conversations", {});
  }

  /** Restore a deleted chat. */
  restoreConversation(id: string): Promise<Conversation> {
    return this.json("post", "/api/conversations/{id}/restore", { path: { id } });
  }

  /** Mark the answers of a chat as seen. */
  async see(id: string): Promise<void> {
    await this.request("post", "/api/conversations/{id}/seen", { path: { id } });
  }

  /** Read the models that chats can have, and what the next turn of a chat would cost with each. */
  async models(conversationId: string | null): Promise<{ data: ChatModel[] }> {
    return this.json("get", "/api/models", { query: conversationId === null ? {} : { conversation_id: conversationId } });
  }

  /** Load a model; the response is the event stream of its steps. */
  loadModel(model: string, signal: AbortSignal): Promise<Response> {
    return this.request("post", "/api/models/load", { body: { model }, signal });
  }

  /** Start a run; the response is its event stream. Sending the same message again leads to the same run. */
  sendMessage(conversationId: string, message: NewMessage, signal: AbortSignal): Promise<Response> {
    const path = { id: conversationId };
    return this.request("post", "/api/conversations/{id}/messages", { path, body: message, signal });
  }

  /**
   * Start a run that regenerates an answer, as the message `id`; the response is its event stream.
   */
  retryMessage(messageId: string, id: string, signal: AbortSignal, wanted: Retry = {}): Promise<Response> {
    const body = { id, ...wanted };
    return this.request("post", "/api/messages/{id}/retry", { path: { id: messageId }, body, signal });
  }

  /** Store an edited answer, as the message `id`, next to the original, and show it. */
  editAnswer(messageId: string, id: string, content: string): Promise<Conversation> {
    return this.json("post", "/api/messages/{id}/edit", { path: { id: messageId }, body: { id, content } });
  }

  /** Rate an answer; null removes the rating and its note. */
  rateAnswer(messageId: string, rating: Rating | null, note: string | null): Promise<Conversation> {
    return this.json("put", "/api/messages/{id}/rating", { path: { id: messageId }, body: { rating, note } });
  }

  /** Start a run that continues an incomplete answer; the response is its event stream. */
  continueMessage(messageId: string, signal: AbortSignal): Promise<Response> {
    return this.request("post", "/api/messages/{id}/continue", { path: { id: messageId }, signal });
  }

  /** Switch to the branch of a message: the newest leaf below it becomes the head. */
  showBranch(conversationId: string, messageId: string, signal: AbortSignal): Promise<Conversation> {
    const body = { message_id: messageId };
    return this.json("put", "/api/conversations/{id}/head", { path: { id: conversationId }, body, signal });
  }

  /** Create a conversation with copies of the messages up to one. */
  forkConversation(conversationId: string, messageId: string): Promise<Conversation> {
    const body = { message_id: messageId };
    return this.json("post", "/api/conversations/{id}/fork", { path: { id: conversationId }, body });
  }

  /** Delete a message and everything after it; alone: the question of the message and its answers only. */
  deleteMessage(messageId: string, alone = false): Promise<Conversation> {
    const query = alone ? ({ alone: "true" } as const) : {};
    return this.json("delete", "/api/messages/{id}", { path: { id: messageId }, query });
  }

  /** Delete a message and everything after it for good, also one that is deleted already. */
  eraseMessage(messageId: string): Promise<Conversation> {
    return this.json("delete", "/api/messages/{id}", { path: { id: messageId }, query: { permanently: "true" } });
  }

  /** Restore a deleted message and switch to its branch. */
  restoreMessage(messageId: string): Promise<Conversation> {
    return this.json("post", "/api/messages/{id}/restore", { path: { id: messageId } });
  }

  /** Stream samples of the whole server after the event `lastEventId`; without one, the kept history comes first. */
  live(lastEventId: string | null, signal: AbortSignal): Promise<Response> {
    return this.request("get", "/api/live", streamOptions(lastEventId, signal));
  }

  /** Stream a run after the event `lastEventId`; without one the stream begins with a snapshot. 204: no more events. */
  runEvents(runId: string, lastEventId: string | null, signal: AbortSignal): Promise<Response> {
    return this.request("get", "/api/runs/{id}/events", { path: { id: runId }, ...streamOptions(lastEventId, signal) });
  }

  cancelRun(runId: string): Promise<Message> {
    return this.json("post", "/api/runs/{id}/cancel", { path: { id: runId } });
  }

  /** Read the report of why no more of a run's prompt was reused. */
  reuse(runId: string): Promise<ReuseReport> {
    return this.json("get", "/api/runs/{id}/kv", { path: { id: runId } });
  }

  /** Search the titles and messages that contain all words of `query`. */
  search(query: string, filters: SearchParameters, signal: AbortSignal): Promise<SearchResponse> {
    return this.json("get", "/api/search", { query: { ...filters, q: query }, signal });
  }

  /** Find the messages of a chat's path that have a text, the oldest first. */
  async find(id: string, q: string, signal: AbortSignal): Promise<FoundOnPath[]> {
    return (await this.json("get", "/api/conversations/{id}/find", { path: { id }, query: { q }, signal })).messages;
  }

  /** Read the unsent text of a chat; null: of the empty page. */
  draft(conversationId: string | null): Promise<Draft> {
    if (conversationId === null) return this.json("get", "/api/draft", {});
    return this.json("get", "/api/conversations/{id}/draft", { path: { id: conversationId } });
  }

  putDraft(conversationId: string | null, text: string): Promise<Draft> {
    if (conversationId === null) return this.json("put", "/api/draft", { body: { text } });
    return this.json("put", "/api/conversations/{id}/draft", { path: { id: conversationId }, body: { text } });
  }

  /** Read all presets, by name. */
  async presets(): Promise<Preset[]> {
    return (await this.json("get", "/api/presets", {})).data;
  }

  createPreset(fields: PresetFields): Promise<Preset> {
    return this.json("post", "/api/presets", { body: fields });
  }

  replacePreset(id: string, fields: PresetFields): Promise<Preset> {
    return this.json("put", "/api/presets/{id}", { path: { id }, body: fields });
  }

  async deletePreset(id: string): Promise<void> {
    await this.request("delete", "/api/presets/{id}", { path: { id } });
  }

  /** Read all saved prompts, by name. */
  async savedPrompts(): Promise<SavedPrompt[]> {
    return (await this.json("get", "/api/prompts", {})).data;
  }

  savePrompt(name: string, text: string): Promise<SavedPrompt> {
    return this.json("post", "/api/prompts", { body: { name, text } });
  }

  replacePrompt(id: string, name: string, text: string): Promise<SavedPrompt> {
    return this.json("put", "/api/prompts/{id}", { path: { id }, body: { name, text } });
  }

  async deletePrompt(id: string): Promise<void> {
    await this.request("delete", "/api/prompts/{id}", { path: { id } });
  }

  /** Read the list of the kept files, the newest first. */
  async keptFiles(): Promise<KeptFile[]> {
    return (await this.json("get", "/api/files", {})).data;
  }

  keptFile(id: string): Promise<KeptFileText> {
    return this.json("get", "/api/files/{id}", { path: { id } });
  }

  /** Keep the text of a file, in place of the kept file of the same name. */
  keepFile(name: string, text: string): Promise<KeptFile> {
    return this.json("post", "/api/files", { body: { name, text } });
  }

  async deleteKeptFile(id: string): Promise<void> {
    await this.request("delete", "/api/files/{id}", { path: { id } });
  }

  /** Read the tier that holds the KV of each chat. Unknown chats are left out. */
  async places(conversationIds: readonly string[]): Promise<[string, ChatTier][]> {
    const { data } = await this.json("post", "/api/places", { body: { conversation_ids: [...conversationIds] } });
    return data.map(({ conversation_id, place }) => [conversation_id, place]);
  }

  /** Read whether the disk keeps the KV of a pinned chat. */
  promise(conversationId: string): Promise<PromisedChat> {
    return this.json("get", "/api/conversations/{id}/promise", { path: { id: conversationId } });
  }

  /** Hint that a chat's next question may come soon. Resolves with whether the server restores its KV. */
  async warm(conversationId: string): Promise<boolean> {
    return (await this.json("post", "/api/conversations/{id}/warm", { path: { id: conversationId } })).warming;
  }

  /** Withdraw the hint of `warm`. */
  async stopWarming(conversationId: string): Promise<void> {
    await this.request("delete", "/api/conversations/{id}/warm", { path: { id: conversationId } });
  }

  /** Count the tokens of the prompt that a message would make of a chat's model; null: in a new chat with `systemPrompt`. */
  promptSize(conversationId: string | null, content: string, systemPrompt: string | null, model: string | null, signal: AbortSignal): Promise<PromptSize> {
    const chat = { ...(conversationId === null ? { system_prompt: systemPrompt } : { conversation_id: conversationId }), model };
    return this.json("post", "/api/prompt-size", { body: { ...chat, content }, signal });
  }

  /** Have the model summarize the first `left_out` messages of a conversation. ontext: called with each part that is written. */
  async summarize(conversationId: string, left_out: number, signal: AbortSignal, ontext: (text: string) => void): Promise<string> {
    const call = { path: { id: conversationId }, body: { left_out, stream: true }, signal };
    const response = await this.request("post", "/api/conversations/{id}/summary", call);
    return readSummary(response, signal, ontext);
  }

  /** Count the model's tokens of a text. */
  async countTokens(text: string): Promise<number> {
    return (await this.json("post", "/tokenize", { body: { prompt: text, add_special_tokens: false } })).count;
  }

  /** Read the text of a docx, xlsx, pptx or epub file, or of a web page. */
  async documentText(file: Blob, isHtml: boolean): Promise<string> {
    const call = { bytes: file, query: { html: isHtml ? "true" : "false" } } as const;
    return (await this.json("post", "/api/document-text", call)).text;
  }

  /** Make a link to a chat as it is now. */
  share(conversationId: string, days: number, receipts: boolean): Promise<NewShare> {
    return this.json("post", "/api/conversations/{id}/shares", { path: { id: conversationId }, body: { days, receipts } });
  }

  /** Read the links that have not expired, the newest first. */
  async shares(): Promise<Share[]> {
    return (await this.json("get", "/api/shares", {})).data;
  }

  async deleteShare(id: string): Promise<void> {
    await this.request("delete", "/api/shares/{id}", { path: { id } });
  }

  /** Read all folders, by name, with the number of chats in each, and the tags of all chats. */
  folders(): Promise<Folders> {
    return this.json("get", "/api/folders", {});
  }

  createFolder(fields: FolderFields): Promise<Folder> {
    return this.json("post", "/api/folders", { body: fields });
  }

  replaceFolder(id: string, fields: FolderFields): Promise<Folder> {
    return this.json("put", "/api/folders/{id}", { path: { id }, body: fields });
  }

  async deleteFolder(id: string): Promise<void> {
    await this.request("delete", "/api/folders/{id}", { path: { id } });
  }

  /** Change, delete or restore several chats. */
  changeConversations(ids: readonly string[], changes: BulkChanges): Promise<BulkResult> {
    return this.json("post", "/api/conversations/bulk", { body: { conversation_ids: [...ids], ...changes } });
  }

  /** Export several chats as one JSON file. report: called with the number of chats that have arrived. */
  async exportConversations(ids: readonly string[], report: (count: number) => void): Promise<Blob> {
    const response = await this.request("post", "/api/export", { body: { conversation_ids: [...ids] } });
    return withLinesCounted(response, report);
  }

  /** Read what a file of conversations contains. */
  previewImport(file: Blob): Promise<ImportPreview> {
    return this.json("post", "/api/import/preview", { text: file });
  }

  /** Import conversations of a file. chosen: their positions in the file, such as `0-41,43`. */
  importFile(file: Blob, chosen: string): Promise<Imported> {
    return this.json("post", "/api/import", { text: file, query: { chosen } });
  }
}

/** Return the path from which the browser downloads a chat as a file. */
export function exportPath(conversationId: string, format: "json" | "markdown" | "text"): string {
  const call: Call<"get", "/api/conversations/{id}/export"> = { path: { id: conversationId }, query: { format } };
  return addressOf("/api/conversations/{id}/export" satisfies PathOf<"get">, call);
}

export const EXPORT_ALL_PATH = "/api/export" satisfies PathOf<"get">;

function streamOptions(lastEventId: string | null, signal: AbortSignal) {
  const headers: Record<string, string> = { Accept: "text/event-stream" };
  if (lastEventId !== null) headers["Last-Event-ID"] = lastEventId;
  return { headers, signal, cache: "no-store" } as const;
}
