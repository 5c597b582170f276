import type { ApiClient } from "../services/api/client";
import type { Conversation, Message } from "../services/api/types";
import type { MessagePath, Page } from "./message_path.svelte";
import type { Ratings } from "./ratings";

/** Messages of a page. */
const PAGE = 40;
/** Messages that are read before and after one in the middle of the chat. */
const AROUND = 20;
/** Most messages that the server sends at once. */
const MOST = 500;

/** A chat as the server sent it. show: shows its messages. */
interface ReadChat {
  conversation: Conversation;
  messages: Page;
  show: () => void;
}

/** The open chat, as its pages need it. */
interface OpenChat {
  readonly id: string | null;
  /** Read the end of the chat again. */
  refresh: () => Promise<void>;
}

/** The messages of a long chat, read in pages: first its end, and others as the person scrolls or goes to a message. */
export class ChatPages {
  /** Key of the message around which the chat is shown; null if its end is shown. */
  around = $state<string | null>(null);
  /** The chat of which a page is on its way. */
  private reading: string | null = null;

  constructor(
    private readonly api: Pick<ApiClient, "conversation" | "wholeConversation">,
    private readonly path: MessagePath,
    private readonly ratings: Ratings,
    private readonly chat: OpenChat,
  ) {}

  /** Index of the first message that is not loaded in order; the number of messages if there is none. */
  get gap(): number {
    return this.path.gap < 0 ? this.path.messages.length : this.path.gap;
  }

  /** Whether messages precede the loaded ones. */
  get earlier(): boolean {
    return this.path.earlier;
  }

  /**
   * Read a chat with the end of its path, and all ratings that were given here. The result shows the messages.
   * near: a message whose surroundings are read as well if they are elsewhere; null: the first one. Rejects like the API.
   */
  async readEnd(id: string, near: string | null | undefined, signal: AbortSignal): Promise<ReadChat> {
    // As long as what is loaded of the end, so that nothing of it is left out.
    const loaded = this.path.messages.length - Math.max(this.path.gap, 0);
    const page = { limit: Math.min(MOST, Math.max(PAGE, loaded)) };
    const read = () => this.api.conversation(id, page, signal);
    const { messages, branches, ...conversation } = await this.ratings.readAfter(id, read, signal);
    const apart = near !== undefined && !this.path.wouldHave(near, messages);
    // The message may be gone by now.
    const middle = apart ? await this.readAround(id, near, signal).catch(() => []) : [];
    signal.throwIfAborted();
    return { conversation, messages, show: () => this.replace(messages, middle, branches ?? false, near) };
  }

  /** Read the messages before the first loaded one. Rejects like the API. */
  readEarlier(): Promise<void> {
    return this.read(async (id) => {
      const first = this.path.messages[0];
      if (first === undefined || !this.path.earlier) return;
      const { messages } = await this.api.conversation(id, { limit: PAGE, to: first.parent_id! });
      if (this.chat.id === id && this.path.messages[0]?.id === first.id) this.path.addEarlier(messages);
    });
  }

  /** Read the messages after those before the gap. Rejects like the API. */
  readLater(): Promise<void> {
    return this.read(async (id) => {
      const last = this.path.messages[this.path.gap - 1];
      if (last === undefined) return;
      const { messages, head_id } = await this.api.conversation(id, { limit: PAGE, from: last.id });
      if (this.chat.id !== id || this.path.messages[this.path.gap - 1]?.id !== last.id) return;
      this.path.addLater(messages);
      // Another branch is shown by now, in another browser.
      if (this.path.gap >= 0 && messages.at(-1)?.id === head_id) await this.chat.refresh();
    });
  }

  /** Show the chat around a message of its path, which is read if it is not loaded. Rejects like the API. */
  async reach(messageId: string): Promise<void> {
    const index = this.path.messages.findIndex(({ id }) => id === messageId);
    if (index >= this.gap) this.toEnd();
    else if (index < 0 || this.around !== null) {
      if (index < 0) await this.readMiddle(messageId);
      this.around = this.keyOf(messageId);
    }
  }

  /** Show the end of the chat. */
  toEnd(): void {
    this.around = null;
    this.path.dropMiddle();
  }

  /** Load all messages before this returns, for printing. Return the function that forgets them. */
  readWhole(): () => void {
    const { id } = this.chat;
    const whole = id !== null && (this.path.earlier || this.path.gap >= 0) ? this.api.wholeConversation(id) : null;
    if (whole === null) return () => undefined;
    const forget = this.path.fill(whole.messages);
    return () => {
      if (this.chat.id === id) forget();
    };
  }

  private replace(end: Page, middle: Page, branches: boolean, near: string | null | undefined): void {
    this.path.replace(end, middle, branches);
    if (middle.length > 0) this.around = this.keyOf(near ?? middle[0]!.id);
    else if (this.around !== null && !this.path.messages.some(({ key }) => key === this.around)) this.around = null;
    if (this.around === null) this.path.dropMiddle();
  }

  private async readMiddle(messageId: string): Promise<void> {
    const { id } = this.chat;
    if (id === null) return;
    const middle = await this.readAround(id, messageId);
    if (this.chat.id === id && this.path.messages.length > 0) this.path.addMiddle(middle);
  }

  private async readAround(id: string, messageId: string | null, signal?: AbortSignal): Promise<Message[]> {
    const from = this.api.conversation(id, { limit: AROUND, from: messageId ?? "" }, signal);
    const to = messageId === null ? null : this.api.conversation(id, { limit: AROUND, to: messageId }, signal);
    const [after, before] = await Promise.all([from, to]);
    return [...(before?.messages.slice(0, -1) ?? []), ...after.messages];
  }

  /** Read a page, unless one is on its way. */
  private async read(page: (id: string) => Promise<void>): Promise<void> {
    const { id } = this.chat;
    if (id === null || this.reading === id) return;
    this.reading = id;
    try {
      await page(id);
    } finally {
      if (this.reading === id) this.reading = null;
    }
  }

  private keyOf(messageId: string | undefined): string | null {
    return this.path.messages.find(({ id }) => id === messageId)?.key ?? null;
  }
}
