import type { ApiClient } from "../services/api/client";
import type { BulkChanges, Conversation, DeletedConversationPage, Folder } from "../services/api/types";
import { FolderTree } from "../services/folder_tree";
import type { Conversations } from "./conversations.svelte";

/** Chats that one request may change. */
const MAX_BULK = 500;

/** Called with the ids of the chats that a part of a change has changed. */
export type Report = (changed: readonly string[]) => void;

/** A chat with what a change of its folder and tags replaces. */
export type Placed = Pick<Conversation, "id" | "folder_id" | "tags">;

/** Folders and tags of the chats, and the selection of several chats, of all that the list has. */
export class Organizer {
  tree = $state.raw(new FolderTree([]));
  /** Tags of all chats outside the archive. */
  tags = $state.raw<readonly string[]>([]);
  /** Number of chats outside the archive that are directly in a folder, by its id. */
  private counts = $state.raw<Readonly<Record<string, number>>>({});
  /** The selected chats by their ids; null while the list is for opening chats. */
  selected = $state.raw<ReadonlyMap<string, Placed> | null>(null);
  /** The chats whose folder and tags the dialog changes. */
  targets = $state.raw<readonly string[]>([]);
  private loads = 0;
  private latest: Promise<void> = Promise.resolve();

  readonly folder = $derived.by(() => this.tree.get(this.folderId));
  /** The system prompt of chats that are begun in the open folder. */
  readonly systemPrompt = $derived.by(() => this.tree.systemPrompt(this.folderId));

  constructor(
    private readonly api: ApiClient,
    private readonly conversations: Conversations,
  ) {
    conversations.onShow = () => (this.selected &&= new Map());
  }

  /** The folder that the list shows. */
  get folderId(): string | null {
    return this.conversations.view.folderId;
  }

  /** The tag whose chats the list shows. */
  get tag(): string | null {
    return this.conversations.view.tag;
  }

  /**
   * Read the folders and tags. Keeps the former ones if that fails. A folder and a tag that are gone are shown no more. Resolves
   * once nothing newer is being read.
   */
  load(): Promise<void> {
    this.latest = this.read(++this.loads);
    return this.latest;
  }

  private async read(load: number): Promise<void> {
    const { data, counts, tags } = await this.api.folders();
    if (load !== this.loads) return this.latest;
    this.tree = new FolderTree(data);
    this.counts = counts;
    this.tags = tags;
    const { folderId, tag } = this;
    const isGone = (folderId !== null && this.tree.get(folderId) === null) || (tag !== null && !tags.includes(tag));
    if (isGone) await this.show(null);
  }

  /** Return the number of chats in a folder and in all folders inside it. */
  countOf(folderId: string): number {
    return [...this.tree.within(folderId)].reduce((sum, id) => sum + (this.counts[id] ?? 0), 0);
  }

  /** Show a folder, or the chats of a tag, or with neither the chats outside of folders. Rejects like the API. */
  show(folderId: string | null, tag: string | null = null): Promise<void> {
    return this.conversations.show({ folderId, tag });
  }

  /** Begin a selection with one chat. */
  select(chat: Placed): void {
    this.selected = new Map([[chat.id, placed(chat)]]);
  }

  toggle(chat: Placed): void {
    if (this.selected === null) return;
    const selected = new Map(this.selected);
    if (!selected.delete(chat.id)) selected.set(chat.id, placed(chat));
    this.selected = selected;
  }

  /** Select all chats of the list, or none if all are selected. Rejects like the API, and then keeps the selection. */
  async toggleAll(): Promise<void> {
    const { view, total } = this.conversations;
    const selected = new Map<string, Placed>();
    if (this.selected === null || this.selected.size < total) {
      for await (const page of this.conversations.everyRow()) {
        for (const chat of page) selected.set(chat.id, placed(chat));
      }
    }
    if (this.selected !== null && view === this.conversations.view) this.selected = selected;
  }

  /** Return the chats that the dialog changes. */
  get targeted(): Placed[] {
    return this.targets.flatMap((id) => this.selected?.get(id) ?? this.conversations.find(id) ?? []);
  }

  /**
   * Delete a folder. Return the function that creates it again with its system prompt, its chats and the folders inside
   * it, and returns its new id. Chats that were deleted before stay outside. Both reject like the API.
   */
  async remove({ id, name, parent_id, system_prompt }: Folder): Promise<{ numChats: number; restore: (report?: Report) => Promise<string> }> {
    const inside = this.tree.inside(id);
    const chats: string[] = [];
    for (const archived of ["false", "true"] as const) {
      for await (const page of this.api.allConversations({ archived, shown_in: id })) chats.push(...page.map((chat) => chat.id));
    }
    await this.api.deleteFolder(id);
    const restore = async (report?: Report) => {
      const restored = await this.api.createFolder({ name, parent_id, system_prompt });
      // The folders inside may have changed since, or may be gone.
      for (const folder of inside.flatMap((each) => this.tree.get(each.id) ?? [])) {
        await this.api.replaceFolder(folder.id, { name: folder.name, parent_id: restored.id, system_prompt: folder.system_prompt });
      }
      await this.load();
      await this.change(chats, { folder_id: restored.id }, report);
      return restored.id;
    };
    return { numChats: chats.length, restore };
  }

  /** Give chats back the folder and the tags that they had before `changes`. Rejects like `change`. */
  async giveBack(chats: readonly Placed[], changes: BulkChanges, report?: Report): Promise<void> {
    const former = new Map<string, string[]>();
    for (const { id, folder_id, tags } of chats) {
      const back: BulkChanges = {
        add_tags: changes.remove_tags?.filter((tag) => tags.includes(tag)) ?? [],
        remove_tags: changes.add_tags?.filter((tag) => !tags.includes(tag)) ?? [],
        ...("folder_id" in changes && { folder_id: folder_id ?? null }),
      };
      const key = JSON.stringify(back);
      const alike = former.get(key);
      if (alike === undefined) former.set(key, [id]);
      else alike.push(id);
    }
    for (const [back, ids] of former) await this.change(ids, JSON.parse(back) as BulkChanges, report);
  }

  /**
   * Change, delete or restore chats, and reread the list. report: called with those of each part that still existed. Rejects
   * like the API; the parts before are changed then.
   */
  async change(ids: readonly string[], changes: BulkChanges, report: Report = () => undefined): Promise<void> {
    try {
      for (let at = 0; at < ids.length; at += MAX_BULK) {
        report((await this.api.changeConversations(ids.slice(at, at + MAX_BULK), changes)).changed);
      }
    } catch (error) {
      await this.conversations.reread().catch(() => undefined);
      throw error;
    }
    await this.conversations.reread();
  }

  /** Restore the chats that were deleted after `since`, page by page, the last deleted one first. Rejects like `change`. */
  async restoreDeleted(since: number, report: Report): Promise<void> {
    let cursor: string | null = null;
    try {
      do {
        const page: DeletedConversationPage = await this.api.deletedConversations(cursor, MAX_BULK);
        const ids = page.data.filter(({ deleted_at }) => deleted_at > since).map(({ id }) => id);
        if (ids.length > 0) report((await this.api.changeConversations(ids, { deleted: false })).changed);
        cursor = ids.length < page.data.length ? null : page.next_cursor;
      } while (cursor !== null);
    } finally {
      await this.conversations.reread().catch(() => undefined);
    }
  }
}

/** Return what is kept of a selected chat. There may be very many. */
function placed({ id, folder_id, tags }: Placed): Placed {
  return { id, folder_id, tags: tags.length === 0 ? NO_TAGS : tags };
}

const NO_TAGS: string[] = [];
