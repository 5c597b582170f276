import type { Api } from "../services/api";
import { ApiError } from "../services/errors";
import type { Conversation } from "../services/types";

/** The list of conversations, newest first. */
export class Conversations {
  list = $state<Conversation[]>([]);
  loaded = $state(false);

  constructor(private readonly api: Api) {}

  /** Rejects like the API; the list that was there stays. */
  async load(): Promise<void> {
    this.list = await this.api.conversations();
    this.loaded = true;
  }

  /** Takes in what the server said about one conversation. */
  put(conversation: Conversation): void {
    const others = this.list.filter(({ id }) => id !== conversation.id);
    this.list = [conversation, ...others].sort((a, b) => b.updated_at - a.updated_at);
  }

  async rename(id: string, title: string): Promise<void> {
    const before = this.list;
    this.list = before.map((item) => (item.id === id ? { ...item, title } : item));
    try {
      const changed = await this.api.changeConversation(id, { title });
      this.list = this.list.map((item) => (item.id === id ? changed : item));
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
  }

  /** Takes a removal back. */
  async restore(id: string): Promise<void> {
    this.put(await this.api.restoreConversation(id));
  }
}
