import { untrack } from "svelte";

import { tabStorage } from "../services/browser_storage";
import type { Attachment } from "../services/chat/attachments";
import type { Chat } from "./chat.svelte";
import { joined, without, type Drafts } from "./drafts.svelte";

const KEY = "ebb-queued:";

/** Message of a person, before it is sent. */
export interface Unsent {
  text: string;
  files: readonly Attachment[];
}

/** Place of a queued message in the draft: its text, and the number of its files. */
type Mark = [text: string, numFiles: number];

/**
 * Messages of the open chat that are sent one after another, each when the answer before it is complete. They are the
 * beginning of the draft, so they survive a reload and the loss of the tab. The marks that divide the draft stay in the
 * tab: two tabs must not send the same message.
 */
export class Queue {
  /** waiting: sent when the answer is complete. held: the answer ended otherwise, or unseen, so the person decides. */
  state = $state<"none" | "waiting" | "held">("none");

  private marks = $state.raw<readonly Mark[]>([]);
  private chatId: string | null = null;
  private answering = false;
  /** Whether the person stops the answer to send the first message. */
  private urgent = false;

  constructor(
    private readonly chat: Pick<Chat, "id" | "phase" | "messages">,
    private readonly drafts: Pick<Drafts, "text" | "files" | "replace">,
  ) {}

  /** The queued messages. After a reload they arrive a moment later. */
  get messages(): readonly Unsent[] {
    return this.divided.queued;
  }

  /** The message in the field: the rest of the draft. */
  get typed(): Unsent {
    return this.divided.typed;
  }

  /** Return the whole draft with another text being typed. */
  draftWith(text: string): string {
    return joined([...this.messages.map((message) => message.text), text]);
  }

  /** Queue the message in the field. */
  add(): void {
    if (this.chat.phase !== "answering" || this.chat.id === null) return;
    const { text, files } = this.typed;
    this.state = "waiting";
    this.mark([...this.marks.slice(0, this.messages.length), [text, files.length]]);
  }

  /** Send the first message when the answer ends, however it ends. */
  hurry(): void {
    this.urgent = true;
  }

  /** Take the first message out of the queue. It is the beginning of the draft. The others wait for its answer. */
  shift(): Unsent | undefined {
    const first = this.messages.at(0);
    this.urgent = false;
    this.mark(this.marks.slice(1));
    if (this.state === "held") this.state = "waiting";
    return first;
  }

  /** Move a queued message back to the field, in front of its text. */
  edit(index: number): void {
    const { messages, typed } = this;
    const { text, files } = messages[index]!;
    this.arrange(messages.toSpliced(index, 1), { text: joined([text, typed.text]), files: [...files, ...typed.files] });
  }

  /** Remove a queued message. */
  remove(index: number): void {
    this.arrange(this.messages.toSpliced(index, 1), this.typed);
  }

  /** Move the message in the field to the beginning of the draft, so that it can be taken, and return it. */
  bringForward(): Unsent {
    const { messages, typed } = this;
    const all = [typed, ...messages];
    this.drafts.replace(joined(all.map(({ text }) => text)), all.flatMap(({ files }) => files));
    return typed;
  }

  /** Call `send` when the answer is complete for which the first message waits. Return the function that stops this. */
  follow(send: () => void): () => void {
    return $effect.root(() => {
      $effect(() => {
        const { id, phase } = this.chat;
        untrack(() => {
          if (id !== this.chatId) this.open(id);
          if (phase === "answering") this.answering = true;
          if (phase === "idle") this.onIdle(send);
        });
      });
    });
  }

  /** Forget the queued messages of all chats. */
  forget(): void {
    this.state = "none";
    this.marks = [];
    tabStorage.removeAll(KEY);
  }

  /** The draft, divided at the marks. A draft that another tab has changed has no queued messages any more. */
  private get divided(): { queued: readonly Unsent[]; typed: Unsent } {
    let { text, files } = this.drafts;
    const queued: Unsent[] = [];
    for (const [queuedText, numFiles] of this.marks) {
      const rest = without(text, queuedText);
      const isThere = queuedText === "" ? numFiles > 0 : rest !== text;
      if (!isThere || files.length < numFiles) break;
      queued.push({ text: queuedText, files: files.slice(0, numFiles) });
      text = rest;
      files = files.slice(numFiles);
    }
    return { queued, typed: { text, files } };
  }

  private arrange(queued: readonly Unsent[], typed: Unsent): void {
    this.drafts.replace(
      joined([...queued, typed].map(({ text }) => text)),
      [...queued, typed].flatMap(({ files }) => files),
    );
    this.mark(queued.map(({ text, files }) => [text, files.length]));
  }

  private mark(marks: readonly Mark[]): void {
    this.marks = marks;
    if (marks.length === 0) this.state = "none";
    if (this.chatId === null) return;
    tabStorage.put(KEY + this.chatId, marks.length > 0 ? JSON.stringify(marks) : null);
  }

  private open(id: string | null): void {
    this.chatId = id;
    this.answering = false;
    this.urgent = false;
    const stored = id !== null ? tabStorage.get(KEY + id) : null;
    this.marks = stored !== null ? (JSON.parse(stored) as Mark[]) : [];
    this.state = this.marks.length > 0 ? "waiting" : "none";
  }

  private onIdle(send: () => void): void {
    const { answering } = this;
    this.answering = false;
    if (this.state !== "waiting") return;
    const ended = this.urgent || this.chat.messages.at(-1)?.status === "complete";
    this.urgent = false;
    if (answering && ended && this.messages.length > 0) send();
    else this.state = "held";
  }
}
