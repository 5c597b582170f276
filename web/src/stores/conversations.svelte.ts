import type { ApiClient } from "../services/api/client";
import { ApiError } from "../services/api/errors";
import type { ChatFilter, Conversation, ConversationChanges, Imported } from "../services/api/types";
import { ChatRows } from "./chat_rows.svelte";
import { RecentChats } from "./recent_chats.svelte";

/** Pauses before each look for a generated title. The model writes titles while it is idle. */
const TITLE_PAUSES_MS = [1_500, 3_000, 6_000, 12_000];

/** Version of a conversation that nothing has happened to: each question and each change raises it. */
const UNTOUCHED = 1;

/** Most requests for one list, if conversations change during each. */
const MAX_TRIES = 3;

/** Rows of a page of the list. */
const PAGE = 100;

/** Most rows that are read again at once. */
const MAX_PAGE = 500;

/** Pause before the list is read again after changes whose place in it is not known. */
const SETTLE_MS = 250;

/** Chats outside the shown rows that are remembered. */
const MAX_NOTED = 200;

/** The list that is shown: the archive, the chats with a tag, those of a folder, or those outside of folders. */
export interface ListView {
  archived: boolean;
  folderId: string | null;
  tag: string | null;
}

/**
 * The shown list of conversations: pinned ones first, then the newest. The server says how many there are; the rows near the
 * seen ones are read.
 */
export class Conversations {
  loaded = $state(false);
  view = $state.raw<Readonly<ListView>>({ archived: false, folderId: null, tag: null });
  private readonly rows = new ChatRows();
  private readonly newest: RecentChats;
  /** Chats that arrived alone: opened or changed here, or changed elsewhere. Rows of the list are newer. */
  private noted = $state.raw<readonly Conversation[]>([]);
  /** The rows near the visible ones. */
  private seen = { from: 0, to: 0 };
  /** Offsets of the pages of this view that are being read. */
  private reading = new Map<number, Promise<void>>();
  private settling: ReturnType<typeof setTimeout> | undefined;
  /** Number of changes to the list that did not come with it. */
  private edits = 0;
  /** Number of readings of the list that began, and of the one that is shown. */
  private begun = 0;
  private shown = 0;
  /** Called when folders, tags and their counts may have changed. */
  onReread: () => void = () => undefined;
  /** Called with rows that were read. */
  onRows: (rows: readonly Conversation[]) => void = () => undefined;
  /** Called when another list is shown. */
  onShow: () => void = () => undefined;

  constructor(
    private readonly api: ApiClient,
    /** Called when a conversation was changed here. */
    private readonly onChange: () => void = () => undefined,
  ) {
    this.newest = new RecentChats(api);
  }

  /** The rows of the whole list, undefined where they were not read. */
  get all(): readonly (Conversation | undefined)[] {
    return this.rows.all;
  }

  /** The rows that were read. */
  get known(): readonly Conversation[] {
    return this.rows.known;
  }

  /** Number of chats in the whole list. */
  get total(): number {
    return this.rows.all.length;
  }

  get archived(): boolean {
    return this.view.archived;
  }

  /** Return a row of the list as the server has listed it. */
  listed(id: string | null): Conversation | undefined {
    return this.rows.find(id);
  }

  /** Return a chat of the list, the open one, or one that has changed recently. */
  find(id: string | null): Conversation | undefined {
    return this.rows.find(id) ?? this.noted.find((each) => each.id === id);
  }

  /** Load what is seen of the list. Rejects like the API, and then keeps the previous list. */
  async load(): Promise<void> {
    this.onReread();
    await Promise.all([this.read(), this.newest.load()]);
  }

  private async read(): Promise<void> {
    clearTimeout(this.settling);
    const { view } = this;
    const reading = ++this.begun;
    for (let tries = 1; ; tries++) {
      const { edits } = this;
      const offset = Math.floor(this.seen.from / PAGE) * PAGE;
      const limit = Math.min(MAX_PAGE, Math.max(PAGE, Math.ceil((this.seen.to - offset) / PAGE) * PAGE));
      const { data, total = 0 } = await this.api.conversations(filterOf(view), offset, limit);
      if (view !== this.view || reading < this.shown) return;
      // A conversation that changed in the meantime may be older in the response, or missing.
      if (edits !== this.edits && tries < MAX_TRIES) continue;
      this.rows.set(data, offset, total);
      this.shown = reading;
      this.loaded = true;
      this.onRows(data);
      return;
    }
  }

  /** Read the rows of these places, which are near the visible ones, unless they are there. Failures leave gaps. */
  async see(from: number, to: number): Promise<void> {
    this.seen = { from, to };
    const { reading } = this;
    for (let offset = Math.floor(from / PAGE) * PAGE; offset < Math.min(to, this.total); offset += PAGE) {
      if (!this.rows.lacks(Math.max(from, offset), Math.min(to, offset + PAGE))) continue;
      const page = reading.get(offset) ?? this.readPage(offset).catch(() => undefined);
      reading.set(offset, page);
      await page;
      reading.delete(offset);
    }
  }

  private async readPage(offset: number): Promise<void> {
    const { view, edits, shown } = this;
    const { data, total = 0 } = await this.api.conversations(filterOf(view), offset, PAGE);
    if (view !== this.view || shown !== this.shown) return;
    if (edits === this.edits && this.rows.add(data, offset, total)) this.onRows(data);
    else await this.read();
  }

  /** Read the list again once changes have come to rest. */
  private settle(): void {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => void this.read().catch(() => undefined), SETTLE_MS);
  }

  /** Show another list. Rejects like the API. */
  async show(view: Partial<ListView>): Promise<void> {
    this.view = { ...this.view, ...view };
    this.rows.set([], 0, 0);
    this.seen = { from: 0, to: 0 };
    this.reading = new Map();
    this.loaded = false;
    this.onShow();
    await this.read();
  }

  /** Switch between the archive and the other conversations. Rejects like the API. */
  showArchive(archived: boolean): Promise<void> {
    return this.show({ archived });
  }

  /** Read the chats of the whole shown list, page by page. Rejects like the API. */
  everyRow(): AsyncIterable<readonly Conversation[]> | readonly (readonly Conversation[])[] {
    return this.rows.complete ? [this.known] : this.api.allConversations(filterOf(this.view));
  }

  /** Return the newest conversations but `open`; null until they are known. */
  recent(open: string | null): Conversation[] | null {
    return this.newest.but(open);
  }

  /** Add or update a conversation as the server sent it, unless a newer version is known. */
  put(conversation: Conversation): void {
    const known = this.find(conversation.id);
    // An event or a response that was sent before a change must not undo the change.
    if (conversation.version < (known?.version ?? 0)) return;
    this.edits++;
    if (!conversation.temporary) this.noted = [conversation, ...this.noted.filter(({ id }) => id !== conversation.id)].slice(0, MAX_NOTED);
    this.newest.put(conversation);
    if (!this.rows.put(conversation, isListed(conversation, this.view))) this.settle();
    if (placeOf(conversation) !== placeOf(known)) this.onReread();
  }

  /** Drop a conversation that was deleted elsewhere. */
  drop(id: string): void {
    this.edits++;
    const known = this.find(id);
    this.noted = this.noted.filter((each) => each.id !== id);
    this.newest.drop(id);
    if (!this.rows.drop(id)) this.settle();
    if (placeOf(known) !== NOWHERE) this.onReread();
  }

  /** Change a title, a pin or the archiving at once, and revert if the server refuses. */
  async change(id: string, changes: ConversationChanges): Promise<void> {
    const before = this.rows.all;
    const item = this.rows.find(id);
    if (item !== undefined) this.put({ ...item, ...changes } as Conversation);
    try {
      this.put(await this.api.changeConversation(id, changes));
      this.onChange();
    } catch (error) {
      this.rows.all = before;
      if (item !== undefined) this.noted = this.noted.map((each) => (each.id === id ? item : each));
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
    const item = this.find(id);
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
   * Delete all conversations, archived ones too. Return their number, and the time of the last deletion before. Rejects like
   * the API.
   */
  async removeAll(): Promise<{ count: number; since: number }> {
    const since = await this.api.lastDeletion();
    const count = await this.api.deleteAllConversations();
    this.onChange();
    await this.load();
    return { count, since };
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
      if (this.find(id)?.title_source !== "first_message") return;
      const { title, title_source } = await this.api.conversation(id, { limit: 1 });
      const item = this.find(id);
      if (item?.title_source === "first_message") this.put({ ...item, title, title_source });
    }
  }
}

function filterOf({ archived, folderId, tag }: ListView): ChatFilter {
  if (archived) return { archived: "true" };
  return tag !== null ? { tag } : { shown_in: folderId ?? "top" };
}

function isListed({ archived, folder_id, pinned, tags, temporary }: Conversation, view: ListView): boolean {
  if (temporary || archived !== view.archived) return false;
  if (archived) return true;
  if (view.tag !== null) return tags.includes(view.tag);
  return view.folderId !== null ? folder_id === view.folderId : pinned || folder_id === null;
}

/** Return the folder and the tags that the chat counts for, as a text. */
function placeOf(conversation: Conversation | undefined): string {
  if (conversation === undefined || conversation.archived || conversation.temporary) return NOWHERE;
  return JSON.stringify([conversation.folder_id, conversation.tags]);
}

/** The place of a chat in no folder and without tags. */
const NOWHERE = JSON.stringify([null, []]);
