import type { Problem } from "../services/api/errors";
import type { RunEvent } from "../services/api/run_stream";
import type { Message, PromptProgress, Role } from "../services/api/types";
import { newMessageId } from "../services/chat/ids";

/** A message as the page shows it. */
export interface ShownMessage extends Message {
  /** Identity on the page: unchanged when the server assigns an id, and when a sibling replaces the message. */
  key: string;
  /** Number that is greater than those of the messages before. Other messages that are read do not change it. */
  place: number;
  sibling_ids: string[];
  /** Reason why this question did not reach the server. */
  unsent?: Problem;
  /** Whether it did not arrive because its prompt leaves no room for an answer. */
  tooLong?: boolean;
  /** How far the prompt of this answer is computed; null once there is text. */
  progress?: PromptProgress | null;
  /** Whether to send `parent_id`, as this question is an alternative to another one. */
  branches?: boolean;
}

/** Messages that follow each other, as the server sent them. */
export type Page = readonly Message[];

/** Places that are kept for messages that follow each other, more than a chat has. */
const PLACES = 1_000_000;

/**
 * The shown messages that are loaded: the end of the path, from some message to the head, and maybe messages further up,
 * with a gap before the end.
 */
export class MessagePath {
  messages = $state<ShownMessage[]>([]);
  /** Whether any message of the chat has a sibling. Stored, because checking every message of a long chat takes a frame. */
  branched = $state(false);
  /** Whether other messages precede the first one. */
  earlier = $state(false);
  /** Key of the first message after the gap. */
  private afterGap = $state<string | null>(null);
  /** Whether the server said that the chat has siblings. */
  private branches = false;
  private added = 0;
  /** The lowest place that was given to a message. */
  private lowest = 0;

  /** Index of the first message after the gap; -1 without a gap. */
  readonly gap = $derived.by(() => {
    const { afterGap } = this;
    return afterGap === null ? -1 : this.messages.findIndex(({ key }) => key === afterGap);
  });

  /**
   * Show the server's messages, after those before them that are loaded.
   * end: the end of the path. middle: other messages of the path. branches: whether any message of the chat has a sibling.
   */
  replace(end: Page, middle: Page = [], branches = false): void {
    this.branches = branches;
    const shown = this.shownAs();
    if (middle.length > 0) this.follow(middle, shown);
    else if (end.length === 0) this.messages = [];
    const connected = continuesAt(this.messages, end) !== null;
    if (middle.length > 0 && !connected) {
      // There is one gap at most.
      if (this.gap > 0) this.dropMiddle();
      const after = placed(end.flatMap(shown), this.messages.at(-1)!.place + PLACES);
      this.afterGap = after[0]!.key;
      this.messages = [...this.messages, ...after];
    } else this.follow(end, shown);
    this.branched = branches || this.messages.some(hasSiblings);
  }

  /** Whether a message is loaded, or would be if `end` replaced the end of the path; null: the first message of the path. */
  wouldHave(id: string | null, end: Page): boolean {
    const [first] = end;
    if (first === undefined || first.parent_id === null) return true;
    const kept = continuesAt(this.messages, end);
    if (id === null) return kept !== null && !this.earlier;
    return end.some((message) => message.id === id) || this.messages.slice(0, kept ?? 0).some((message) => message.id === id);
  }

  /** Add the messages that precede the first one. */
  addEarlier(page: Page): void {
    const first = this.messages[0]!.place;
    const fresh = page.flatMap(this.shownAs());
    this.messages = [...placed(fresh, first - fresh.length), ...this.messages];
    this.note(page, fresh);
  }

  /** Add the messages that follow those before the gap. */
  addLater(page: Page): void {
    const { gap } = this;
    const [before, after] = [this.messages.slice(0, gap), this.messages.slice(gap)];
    const fresh = page.flatMap(this.shownAs());
    const known = new Set([...before, ...after].map(({ id }) => id));
    const between = placed(fresh.filter(({ id }) => !known.has(id)), before.at(-1)!.place + 1);
    if (meets(page, after)) this.afterGap = null;
    this.messages = [...before, ...between, ...after];
    this.branched ||= fresh.some(hasSiblings);
  }

  /** Add messages further up, in place of others before the gap. */
  addMiddle(page: Page): void {
    const end = this.messages.slice(Math.max(this.gap, 0));
    const known = new Set(end.map(({ id }) => id));
    const fresh = page.flatMap(this.shownAs()).filter(({ id }) => !known.has(id));
    const met = meets(page, end);
    this.afterGap = met ? null : end[0]!.key;
    this.messages = [...placed(fresh, met ? end[0]!.place - fresh.length : this.lowest - 2 * PLACES), ...end];
    this.note(page, fresh);
  }

  /** Forget the messages before the gap. */
  dropMiddle(): void {
    if (this.gap < 0) return;
    this.messages = this.messages.slice(this.gap);
    this.afterGap = null;
    this.earlier = true;
  }

  /** Add all messages of the path that are not loaded. Return the function that forgets them. */
  fill(whole: Page): () => void {
    const { earlier, afterGap } = this;
    const loaded = new Map(this.messages.map((message) => [message.id, message]));
    const keys = new Set(this.messages.map(({ key }) => key));
    const shown = this.shownAs();
    const above = whole.findIndex(({ id }) => loaded.has(id));
    let place = (this.messages[0]?.place ?? 0) - Math.max(above, 0);
    const all = whole.flatMap((message) => {
      const known = loaded.get(message.id);
      const one = known === undefined ? shown(message) : [known];
      for (const each of one) place = known === undefined ? (each.place = place) + 1 : each.place + 1;
      return one;
    });
    const here = new Set(all.map(({ key }) => key));
    this.messages = [...all, ...this.messages.filter(({ key }) => !here.has(key))];
    [this.earlier, this.afterGap] = [false, null];
    return () => {
      const last = this.messages.findLastIndex(({ key }) => keys.has(key));
      this.messages = this.messages.filter(({ key }, index) => keys.has(key) || index > last);
      [this.earlier, this.afterGap] = [earlier, afterGap];
    };
  }

  /** Show a page after the messages that precede it, or alone. */
  private follow(page: Page, shown: (message: Message) => ShownMessage[]): void {
    const kept = continuesAt(this.messages, page);
    const before = this.messages.slice(0, kept ?? 0);
    const fresh = page.flatMap(shown);
    const known = fresh.findIndex(({ place }) => !Number.isNaN(place));
    const start = before.at(-1)?.place ?? (known < 0 ? this.lowest - 2 * PLACES : fresh[known]!.place - known) - 1;
    if (kept === null || page[0]!.parent_id === null) this.earlier = page.length > 0 && page[0]!.parent_id !== null;
    this.messages = [...before, ...placed(fresh, start + 1)];
    this.lowest = Math.min(this.lowest, this.messages[0]?.place ?? 0);
  }

  /** Note what a page at the beginning says. */
  private note(page: Page, fresh: readonly ShownMessage[]): void {
    this.earlier = page.length > 0 && page[0]!.parent_id !== null;
    this.branched ||= fresh.some(hasSiblings);
    this.lowest = Math.min(this.lowest, this.messages[0]?.place ?? 0);
  }

  /** Return the function that makes shown messages of the server's, under their former keys and places. */
  private shownAs(): (message: Message) => ShownMessage[] {
    const former = new Map(this.messages.map(({ id, key, place }) => [id, { key, place }]));
    return (message) => {
      if (message.role === "system") return [];
      const siblings = message.sibling_ids ?? [message.id];
      const shown = [message.id, ...siblings].find((id) => former.has(id));
      const { key, place } = (shown !== undefined && former.get(shown)) || { key: message.id, place: NaN };
      return [{ ...message, sibling_ids: siblings, key, place }];
    };
  }

  /** Append a message that is not sent yet. sibling: the message that it is an alternative to. */
  add(role: Role, content: string, conversationId: string | null, sibling: ShownMessage | null = null): ShownMessage {
    const id = newMessageId();
    this.branched ||= sibling !== null;
    this.messages.push({
      key: sibling?.key ?? `own-${++this.added}`,
      place: (this.messages.at(-1)?.place ?? sibling?.place ?? 0) + 1,
      id,
      conversation_id: conversationId ?? "",
      parent_id: sibling?.parent_id ?? null,
      role,
      content,
      reasoning: null,
      status: role === "user" ? "complete" : "in_progress",
      finish_reason: null,
      error: null,
      usage: null,
      run_id: null,
      params: null,
      left_out: sibling?.left_out ?? null,
      summary: sibling?.summary ?? null,
      rating: null,
      rating_note: null,
      merged: null,
      model: null,
      created_at: Date.now() / 1_000,
      completed_at: null,
      sibling_ids: [...(sibling?.sibling_ids ?? []), id],
    });
    return this.messages.at(-1)!;
  }

  discard(key: string): void {
    this.restore(this.messages.filter((message) => message.key !== key));
  }

  /** Remove a message and those after it. Return the previous messages, for `restore`. */
  cutBefore(message: ShownMessage): ShownMessage[] {
    const before = this.messages;
    this.messages = before.slice(0, before.indexOf(message));
    return before;
  }

  restore(messages: ShownMessage[]): void {
    this.messages = messages;
    this.branched = this.branches || messages.some(hasSiblings);
  }

  /** Change a message. If the server assigned another id, the siblings take that over. */
  update(key: string, changes: Partial<Message & Pick<ShownMessage, "progress">>): void {
    const message = this.find(key);
    if (message === undefined) return;
    const { id = message.id } = changes;
    const sibling_ids = message.sibling_ids.map((sibling) => (sibling === message.id ? id : sibling));
    Object.assign(message, { sibling_ids }, changes);
  }

  /** Apply an event of the run that writes the answer `key`. */
  apply(event: RunEvent, key: string): void {
    switch (event.kind) {
      case "run": {
        const before = this.messages.findIndex((message) => message.key === key) - 1;
        if (before >= 0) Object.assign(this.messages[before]!, event.user_message);
        this.update(key, event.message);
        break;
      }
      case "progress": {
        this.update(key, { progress: event });
        break;
      }
      case "delta": {
        const message = this.find(key);
        if (message?.progress) message.progress = null;
        if (message) message.content += event.text;
        if (message && event.reasoning) message.reasoning = (message.reasoning ?? "") + event.reasoning;
        break;
      }
      default:
        this.update(key, { ...event.message, progress: null });
    }
  }

  /** Find a message, from the end of the path, where the growing answer is. */
  private find(key: string): ShownMessage | undefined {
    return this.messages.findLast((message) => message.key === key);
  }
}

/** Return how many of the messages a page continues; null if it does not follow any of them. */
function continuesAt(messages: Page, page: Page): number | null {
  const [first] = page;
  if (first === undefined) return null;
  if (first.parent_id === null) return 0;
  const same = messages.findIndex(({ id }) => id === first.id);
  if (same >= 0) return same;
  const above = messages.findIndex(({ id }) => id === first.parent_id);
  return above < 0 ? null : above + 1;
}

/** Whether a page reaches the messages `after` it. */
function meets(page: Page, after: Page): boolean {
  const first = after[0]!;
  return page.some(({ id }) => id === first.id) || page.at(-1)?.id === first.parent_id;
}

/** Give messages their places, from `start` on. A message keeps its former place if that is further down. */
function placed(messages: ShownMessage[], start: number): ShownMessage[] {
  let place = start;
  for (const message of messages) {
    message.place = message.place > place ? message.place : place;
    place = message.place + 1;
  }
  return messages;
}

function hasSiblings({ sibling_ids }: Message): boolean {
  return (sibling_ids?.length ?? 1) > 1;
}
