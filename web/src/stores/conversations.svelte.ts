import type { ApiClient } from "../services/api/client";
import { ApiError } from "../services/api/errors";
import type { Conversation, ConversationChanges, Imported } from "../services/api/types";

/** Pauses before each look for a generated title. The model writes titles while it is idle. */
const TITLE_PAUSES_MS = [1_500, 3_000, 6_000, 12_000];

/** Number of recent conversations that the empty page shows. */
const MAX_RECENT = 4;

/** Version of a conversation that nothing has happened to: each question and each change raises it. */
const UNTOUCHED = 1;

/** Most requests for one list, if conversations change during each. */
const MAX_TRIES = 3;

/** The list of conversations, or the archive: pinned ones first, then the newest. */
export class Conversations {
  list = $state<Conversation[]>([]);
  loaded = $state(false);
  archived = $state(false);
  /** The open chat, also where the list does not show it. */
  opened = $state.raw<Conversation | null>(null);
  /** Number of changes to the list that did not come with the whole list. */
  private edits = 0;
  /** Called when the list is about to be read again. */
  onReread: () => void = () => undefined;
  /** Called with each list that was read, and whether it is the archive. */
  onList: (list: readonly Conversation[], archived: boolean) => void = () => undefined;

  constructor(
    private readonly api: ApiClient,
    /** Called when a conversation was changed here. */
    private readonly onChange: () => void = () => undefined,
  ) {}

  /** Load the list. Rejects like the API, and then keeps the previous list. */
  async load(): Promise<void> {
    const { archived } = this;
    this.onReread();
    for (let tries = 1; ; tries++) {
      const { edits } = this;
      const list = await this.api.conversations(archived);
      if (archived !== this.archived) return;
      // A conversation that changed in the meantime may be older in the response, or missing.
      if (edits !== this.edits && tries < MAX_TRIES) continue;
      this.list = list;
      this.loaded = true;
      this.onList(list, archived);
      return;
    }
  }

  /** Switch between the archive and the other conversations. Rejects like the API. */
  async showArchive(archived: boolean): Promise<void> {
    this.archived = archived;
    this.list = [];
    this.loaded = false;
    await this.load();
  }

  /** Return the newest conversations but `open`; null until they are known, and in the archive. */
  recent(open: string | null): Conversation[] | null {
    if (!this.loaded || this.archived) return null;
    const others = this.list.filter(({ id }) => id !== open);
    return others.toSorted((a, b) => b.updated_at - a.updated_at).slice(0, MAX_RECENT);
  }

  /** Return a chat of the list, or the open one. */
  find(id: string | null): Conversation | undefined {
    return this.list.find((item) => item.id === id) ?? (this.opened?.id === id ? this.opened : undefined);
  }

  /** Add or update a conversation as the server sent it, unless a newer version is listed. */
  put(conversation: Conversation): void {
    const known = this.list.find(({ id }) => id === conversation.id)?.version ?? 0;
    // An event or a response that was sent before a change must not undo the change.
    if (conversation.version < known) return;
    if (conversation.id === this.opened?.id) this.opened = conversation;
    this.edits++;
    const others = this.list.filter(({ id }) => id !== conversation.id);
    const listed = Boolean(conversation.archived) === this.archived && !conversation.temporary;
    this.list = listed ? [conversation, ...others].sort(byRank) : others;
  }

  /** Drop a conversation that was deleted elsewhere. */
  drop(id: string): void {
    this.edits++;
    this.list = this.list.filter((item) => item.id !== id);
  }

  /** Change a title, a pin or the archiving at once, and revert if the server refuses. */
  async change(id: string, changes: ConversationChanges): Promise<void> {
    const before = this.list;
    const item = before.find((candidate) => candidate.id === id);
    if (item !== undefined) this.put({ ...item, ...changes } as Conversation);
    try {
      this.put(await this.api.changeConversation(id, changes));
      this.onChange();
    } catch (error) {
      this.list = before;
      throw error;
    }
  }

  /** Delete a conversation. Rejects like the API, unless the conversation is already gone. */
  async remove(id: string): Promise<void> {
    try {
      await this.api.deleteConversation(id);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) throw error;
    }
    this.drop(id);
    this.onChange();
  }

  /** Return whether a chat was created for a question that never arrived, and nothing else has happened to the chat. */
  awaitsQuestion(id: string): boolean {
    const item = this.list.find((candidate) => candidate.id === id);
    return item?.title_source === "first_message" && item.version === UNTOUCHED;
  }

  /** Delete a chat permanently that still awaits its question. Rejects like the API. */
  async discard(id: string): Promise<void> {
    await this.api.discardConversation(id, UNTOUCHED);
    this.drop(id);
    this.onChange();
  }

  /** Reread the list after a change that this page made past it. Rejects like the API. */
  reread(): Promise<void> {
    this.onChange();
    return this.load();
  }

  /**
   * Delete all conversations, archived ones too. Return their number, and a function that lists those that can be restored.
   * Both reject like the API.
   */
  async removeAll(): Promise<{ count: number; removed: () => Promise<string[]> }> {
    const before = await this.api.lastDeletion();
    const count = await this.api.deleteAllConversations();
    this.onChange();
    await this.load();
    const removed = async () => {
      const deleted = await this.api.deletedConversations();
      return deleted.filter(({ deleted_at }) => deleted_at > before).map(({ id }) => id);
    };
    return { count, removed };
  }

  /** Restore a deleted conversation. Rejects like the API. */
  async restore(id: string): Promise<void> {
    const restored = await this.api.restoreConversation(id);
    // Conversations of the API are not chats.
    if (restored.source === "chat") this.put(restored);
    this.onChange();
  }

  /** Import the chosen conversations of a file and reload the list. Rejects like the API. */
  async importFile(file: Blob, chosen: string): Promise<Imported> {
    const result = await this.api.importFile(file, chosen);
    this.onChange();
    await this.load();
    return result;
  }

  /** Reread a conversation's title a few times, until the model has replaced the first words with a better one. */
  async awaitTitle(id: string, pauses: readonly number[] = TITLE_PAUSES_MS): Promise<void> {
    for (const pause of pauses) {
      await new Promise((resolve) => setTimeout(resolve, pause));
      const item = this.list.find((candidate) => candidate.id === id);
      if (item?.title_source !== "first_message") return;
      const { title, title_source } = await this.api.conversation(id, { limit: 1 });
      Object.assign(item, { title, title_source });
    }
  }
}

/** Compare conversations as the server orders them. Times are equal where a file had no times. */
function byRank(a: Conversation, b: Conversation): number {
  return Number(b.pinned ?? false) - Number(a.pinned ?? false) || b.updated_at - a.updated_at || (a.id < b.id ? 1 : -1);
}
