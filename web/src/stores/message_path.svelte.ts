import type { Problem } from "../services/api/errors";
import type { RunEvent } from "../services/api/run_stream";
import type { Message, PromptProgress, Role } from "../services/api/types";
import { newMessageId } from "../services/chat/ids";

/** A message as the page shows it. */
export interface ShownMessage extends Message {
  /** Identity on the page: unchanged when the server assigns an id, and when a sibling replaces the message. */
  key: string;
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

/** The shown messages, from the first question to the head. */
export class MessagePath {
  messages = $state<ShownMessage[]>([]);
  /** Whether any message has a sibling. Stored, because checking every message of a long chat takes a frame. */
  branched = $state(false);
  private added = 0;

  /** Replace the messages with the server's. */
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

  /** Append a message that is not sent yet. sibling: the message that it is an alternative to. */
  add(role: Role, content: string, conversationId: string | null, sibling: ShownMessage | null = null): ShownMessage {
    const id = newMessageId();
    this.branched ||= sibling !== null;
    this.messages.push({
      key: sibling?.key ?? `own-${++this.added}`,
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
    this.branched = messages.some(hasSiblings);
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

function hasSiblings({ sibling_ids }: Message): boolean {
  return (sibling_ids?.length ?? 1) > 1;
}
