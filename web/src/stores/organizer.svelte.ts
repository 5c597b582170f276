import { SvelteSet } from "svelte/reactivity";

import type { ApiClient } from "../services/api/client";
import type { BulkChanges, Conversation, Folder } from "../services/api/types";
import { FolderTree } from "../services/folder_tree";
import type { Conversations } from "./conversations.svelte";

/** Chats that one request may change. */
const MAX_BULK = 500;

/** Folders and tags of the chats, the part of the list that they show, and the selection of several chats. */
export class Organizer {
  tree = $state.raw(new FolderTree([]));
  /** The folder that the list shows, or the tag. At most one of them is set. */
  folderId = $state<string | null>(null);
  tag = $state<string | null>(null);
  /** The selected chats; null while the list is for opening chats. */
  selected = $state.raw<SvelteSet<string> | null>(null);
  /** The chats whose folder and tags the dialog changes. */
  targets = $state.raw<readonly string[]>([]);

  readonly folder = $derived(this.tree.get(this.folderId));
  /** The system prompt of chats that are begun in the open folder. */
  readonly systemPrompt = $derived(this.tree.systemPrompt(this.folderId));
  readonly tags = $derived.by(() => [...new Set(this.conversations.list.flatMap(({ tags }) => tags))].sort());
  /** The chats that the list shows. A chat in a folder is shown there, or where it is pinned. */
  readonly shown = $derived.by<readonly Conversation[]>(() => {
    const { list, archived } = this.conversations;
    const { folder, tag } = this;
    if (archived) return list;
    if (tag !== null && this.tags.includes(tag)) return list.filter(({ tags }) => tags.includes(tag));
    if (folder !== null) return list.filter(({ folder_id }) => folder_id === folder.id);
    return list.filter(({ pinned, folder_id }) => pinned || this.tree.get(folder_id) === null);
  });

  constructor(
    private readonly api: ApiClient,
    private readonly conversations: Conversations,
  ) {}

  /** Read the folders. Keeps the former ones if that fails. */
  async load(): Promise<void> {
    this.tree = new FolderTree(await this.api.folders());
  }

  /** Show a folder, or the chats of a tag, or with neither all chats. */
  show(folderId: string | null, tag: string | null = null): void {
    this.folderId = folderId;
    this.tag = tag;
    this.selected &&= new SvelteSet();
  }

  /** Begin a selection with one chat. */
  select(id: string): void {
    this.selected = new SvelteSet([id]);
  }

  toggle(id: string): void {
    if (this.selected?.delete(id) === false) this.selected.add(id);
  }

  /**
   * Delete a folder. Return the function that creates it again with its system prompt, its chats and the folders inside
   * it, and returns its new id. Chats that were deleted before stay outside. Both reject like the API.
   */
  async remove({ id, name, parent_id, system_prompt }: Folder): Promise<() => Promise<string>> {
    const inside = this.tree.inside(id);
    const lists = await Promise.all([false, true].map((archived) => this.api.conversations(archived, id)));
    const chats = lists.flat().filter(({ folder_id }) => folder_id === id);
    await this.api.deleteFolder(id);
    return async () => {
      const restored = await this.api.createFolder({ name, parent_id, system_prompt });
      // The folders inside may have changed since, or may be gone.
      for (const folder of inside.flatMap((each) => this.tree.get(each.id) ?? [])) {
        await this.api.replaceFolder(folder.id, { name: folder.name, parent_id: restored.id, system_prompt: folder.system_prompt });
      }
      await this.load();
      await this.change(
        chats.map((chat) => chat.id),
        { folder_id: restored.id },
      );
      return restored.id;
    };
  }

  /**
   * Change the folder and the tags of chats. Return the function that gives each chat back what it had. Both reject like
   * the API.
   */
  async organize(chats: readonly Conversation[], changes: BulkChanges): Promise<() => Promise<void>> {
    await this.change(chats.map(({ id }) => id), changes);
    const former = new Map<string, string[]>();
    for (const { id, folder_id, tags } of chats) {
      const back: BulkChanges = {
        add_tags: changes.remove_tags?.filter((tag) => tags.includes(tag)) ?? [],
        remove_tags: changes.add_tags?.filter((tag) => !tags.includes(tag)) ?? [],
        ...("folder_id" in changes && { folder_id: folder_id ?? null }),
      };
      const key = JSON.stringify(back);
      former.set(key, [...(former.get(key) ?? []), id]);
    }
    return async () => {
      for (const [back, ids] of former) await this.change(ids, JSON.parse(back) as BulkChanges);
    };
  }

  /** Change, delete or restore chats, and reread the list. Rejects like the API. */
  async change(ids: readonly string[], changes: BulkChanges): Promise<void> {
    for (let at = 0; at < ids.length; at += MAX_BULK) {
      await this.api.changeConversations(ids.slice(at, at + MAX_BULK), changes);
    }
    await this.conversations.reread();
  }
}
