import type { Problem } from "../services/api/errors";
import type { RunEvent } from "../services/api/run_stream";
import type { Message, Role } from "../services/api/types";
import { newMessageId } from "../services/chat/ids";

/** A message as the page shows it. */
export interface ShownMessage extends Message {
  /** Stays the same when a message becomes the server's, and when another branch takes its place. */
  key: string;
  sibling_ids: string[];
  /** Why this message of the user did not reach the server. */
  unsent?: Problem;
  /** It is to stand beside another question, under its `parent_id`. */
  branches?: boolean;
}

/** The messages from the first question to the head, as far as the page knows them. */
export class MessagePath {
  messages = $state<ShownMessage[]>([]);
  /** Whether there is another branch somewhere. Kept here, as asking each message of a long chat takes a frame. */
  branched = $state(false);
  private made = 0;

  /** What the server has, in place of what was here. */
  replace(messages: readonly Message[]): void {
    this.branched = messages.some(hasSiblings);
    const keys = new Map(this.messages.map(({ id, key }) => [id, key]));
    this.messages = messages
      .filter(({ role }) => role !== "system")
      .map((message) => {
        const siblings = message.sibling_ids ?? [message.id];
        const shown = [message.id, ...siblings].find((id) => keys.has(id));
        return { ...message, sibling_ids: siblings, key: (shown && keys.get(shown)) ?? message.id };
      });
  }

  /** A message of our own, not sent yet, at the end. beside: the one that it is an alternative to. */
  add(role: Role, content: string, conversationId: string | null, beside: ShownMessage | null = null): ShownMessage {
    const id = newMessageId();
    this.branched ||= beside !== null;
    this.messages.push({
      key: beside?.key ?? `own-${++this.made}`,
      id,
      conversation_id: conversationId ?? "",
      parent_id: beside?.parent_id ?? null,
      role,
      content,
      reasoning: null,
      status: role === "user" ? "complete" : "in_progress",
      finish_reason: null,
      error: null,
      usage: null,
      run_id: null,
      params: null,
      created_at: Date.now() / 1_000,
      completed_at: null,
      sibling_ids: [...(beside?.sibling_ids ?? []), id],
    });
    return this.messages.at(-1)!;
  }

  discard(key: string): void {
    this.restore(this.messages.filter((message) => message.key !== key));
  }

  /** Shows only what comes before `message`; returns what was shown, to be brought back with `restore`. */
  cutBefore(message: ShownMessage): ShownMessage[] {
    const before = this.messages;
    this.messages = before.slice(0, before.indexOf(message));
    return before;
  }

  restore(messages: ShownMessage[]): void {
    this.messages = messages;
    this.branched = messages.some(hasSiblings);
  }

  /** The server may know it by another id than the page gave it; its siblings are found by the server's. */
  update(key: string, changes: Partial<Message>): void {
    const message = this.find(key);
    if (message === undefined) return;
    const { id = message.id } = changes;
    const sibling_ids = message.sibling_ids.map((sibling) => (sibling === message.id ? id : sibling));
    Object.assign(message, { sibling_ids }, changes);
  }

  /** Takes in an event of the run that writes the answer `key`. */
  take(event: RunEvent, key: string): void {
    switch (event.kind) {
      case "run": {
        const before = this.messages.findIndex((message) => message.key === key) - 1;
        if (before >= 0) Object.assign(this.messages[before]!, event.user_message);
        this.update(key, event.message);
        break;
      }
      case "delta": {
        const message = this.find(key);
        if (message) message.content += event.text;
        if (message && event.reasoning) message.reasoning = (message.reasoning ?? "") + event.reasoning;
        break;
      }
      default:
        this.update(key, event.message);
    }
  }
  /** From the end, where what grows is. */
  private find(key: string): ShownMessage | undefined {
    return this.messages.findLast((message) => message.key === key);
  }
}

function hasSiblings({ sibling_ids }: Message): boolean {
  return (sibling_ids?.length ?? 1) > 1;
}
