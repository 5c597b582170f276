import type { ApiClient } from "../services/api/client";
import { ApiError } from "../services/api/errors";
import type { Conversation, ConversationChanges, Imported } from "../services/api/types";

/** How long after a first answer its title is asked for; the model makes one when nobody else wants anything. */
const TITLE_MS = [1_500, 3_000, 6_000, 12_000];

/** The list of conversations, pinned ones first, then the newest; or those in the archive. */
export class Conversations {
  list = $state<Conversation[]>([]);
  loaded = $state(false);
  archived = $state(false);

  constructor(
    private readonly api: ApiClient,
    /** Told when a chat was changed here. */
    private readonly onChange: () => void = () => undefined,
  ) {}

  /** Rejects like the API; the list that was there stays. */
  async load(): Promise<void> {
    const { archived } = this;
    const list = await this.api.conversations(archived);
    if (archived !== this.archived) return;
    this.list = list;
    this.loaded = true;
  }

  /** Lists the archive, or what is not in it. Rejects like the API. */
  async look(archived: boolean): Promise<void> {
    this.archived = archived;
    this.list = [];
    this.loaded = false;
    await this.load();
  }

  /** Takes in what the server said about one conversation. */
  put(conversation: Conversation): void {
    const others = this.list.filter(({ id }) => id !== conversation.id);
    const listed = Boolean(conversation.archived) === this.archived;
    this.list = listed ? [conversation, ...others].sort(byPlace) : others;
  }

  /** Changes a title, a pin or the place in the archive; shown at once, and taken back where the server refuses. */
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

  async remove(id: string): Promise<void> {
    try {
      await this.api.deleteConversation(id);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) throw error;
    }
    this.list = this.list.filter((item) => item.id !== id);
    this.onChange();
  }

  /** Takes a removal back. */
  async restore(id: string): Promise<void> {
    this.put(await this.api.restoreConversation(id));
    this.onChange();
  }

  /** Rejects like the API. */
  async importFile(text: string): Promise<Imported> {
    const result = await this.api.importFile(text);
    this.onChange();
    await this.load();
    return result;
  }

  /** Looks a few times whether the model has given a chat a better title than its first words. */
  async awaitTitle(id: string, pauses: readonly number[] = TITLE_MS): Promise<void> {
    for (const pause of pauses) {
      await new Promise((resolve) => setTimeout(resolve, pause));
      const item = this.list.find((candidate) => candidate.id === id);
      if (item?.title_source !== "first_message") return;
      const { title, title_source } = await this.api.conversation(id);
      Object.assign(item, { title, title_source });
    }
  }
}

function byPlace(a: Conversation, b: Conversation): number {
  return Number(b.pinned ?? false) - Number(a.pinned ?? false) || b.updated_at - a.updated_at;
}
