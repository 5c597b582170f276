import { SvelteMap } from "svelte/reactivity";

import { withTexts } from "../i18n/language.svelte";
import type { ApiClient } from "../services/api/client";
import { ApiError, describeError, type Problem } from "../services/api/errors";
import { joinContent, splitContent, type Attachment } from "../services/chat/attachments";
import { eraseStored, storedFiles, storedText, storeFiles, storeText } from "../services/chat/draft_storage";

const PAUSE_MS = 400;
/** Maximum size of a request. Whatever could be sent can be stored as a draft. */
export const MAX_BYTES = 4 << 20;
/** Status of a response to a request that is too large. */
const TOO_LARGE = 413;
/** Maximum number of bytes of a character of JSON: an escaped one. */
const CHARACTER_BYTES = 6;

/** A question that has not arrived. */
interface Taken {
  content: string;
  chatId: string | null;
  text: string;
  files: readonly Attachment[];
  /** What the server had of it before it was taken. */
  saved: string;
  /** Whether the question was refused. Then the page shows it with the reason until its chat is left. */
  refused: boolean;
}

/**
 * Unsent text and files of the open chat. The browser stores the text with every key press, the server stores it a moment
 * later. The browser then drops its copy, so a copy that exists is newer than the server's. The files stay in the tab.
 * A question stays among them, in front, until it has arrived. Logging out erases all of it, in every tab.
 */
export class Drafts {
  text = $state("");
  files = $state.raw<readonly Attachment[]>([]);
  /** Where the draft has no room: on the server, or not even in the browser. Else why the server refuses it; null if it does not. */
  overflow = $state<"server" | "browser" | Problem | null>(null);
  /** Resolves when the draft of the open chat is here. */
  opened: Promise<void> = Promise.resolve();

  private chatId = $state<string | null>(null);
  /** Number of readings under way for each draft. */
  private readonly readings = new SvelteMap<string | null, number>();
  /** Whether the person has left. Nothing is stored until a chat is opened again. */
  private closed = false;
  /** The draft that the server has; null if that is unknown. */
  private saved: string | null = "";
  /** The draft that the server was last known to have, or was last sent. */
  private lastSaved = "";
  /** Whether the server's draft is on its way. Until it is here, nothing is saved in its place. */
  private loading = false;
  private taken: Taken[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private saving: Promise<void> = Promise.resolve();

  constructor(
    private readonly api: ApiClient,
    /** Called when nothing unsent is left of a chat, neither here nor on the server. */
    private readonly onEmptied: (chatId: string) => void = () => undefined,
  ) {}

  /** Whether files are being read into the open draft. */
  get reading(): boolean {
    return (this.readings.get(this.chatId) ?? 0) > 0;
  }

  /** Show the draft of conversation `id`, or of the empty page. */
  open(id: string | null): Promise<void> {
    return (this.opened = this.load(id));
  }

  /** Save the text again that could not be saved. */
  saveAgain(): void {
    if (!this.loading) this.flush();
  }

  /** Reread the text that another tab typed, unless the text here is not saved yet. */
  async refresh(): Promise<void> {
    const { text } = this;
    if (this.content !== this.saved) return this.saveAgain();
    const draft = await this.fetch();
    if (draft !== null && text === this.text) this.show(draft);
  }

  /** Replace the text, store it in the browser, and save it on the server after a pause. */
  type(text: string): void {
    if (this.closed) return;
    this.text = text;
    this.store();
    clearTimeout(this.timer);
    if (!this.loading) this.timer = setTimeout(() => this.flush(), PAUSE_MS);
  }

  attach(file: Attachment): void {
    this.add(this.chatId, file);
  }

  /**
   * Read files into the draft that is open now, even if another one is open by the time they have been read. Return the
   * reasons of those that cannot be read, one line for each. Rejects if the page is incomplete.
   */
  async read(files: readonly File[]): Promise<string[]> {
    const { chatId } = this;
    const refusals: string[] = [];
    const change = (by: number) => this.readings.set(chatId, (this.readings.get(chatId) ?? 0) + by);
    change(1);
    try {
      const { readFile, describeRefusal } = await withTexts(import("../services/chat/file_reading"));
      for (const file of files) {
        await readFile(file, this.api).then(
          (read) => this.add(chatId, read),
          (error: unknown) => refusals.push(describeRefusal(file.name, error)),
        );
      }
    } finally {
      change(-1);
    }
    return refusals;
  }

  detach(file: Attachment): void {
    this.replace(this.text, this.files.filter((other) => other !== file));
  }

  /** Remove the text and the files. */
  clear(): void {
    this.replace("", []);
  }

  /** Replace the text and the files. */
  replace(text: string, files: readonly Attachment[]): void {
    this.keep(this.chatId, files);
    // The server may have the files of a refused question.
    this.saved = null;
    this.type(text);
  }

  /** Turn an unsent message back into a draft, in front of the text typed since. */
  restore(content: string): void {
    const { text, files } = splitContent(content);
    this.taken = this.taken.filter((taken) => taken !== this.find(content));
    this.type(joined([text, this.text]));
    this.keep(this.chatId, [...files, ...this.files]);
  }

  /**
   * Take the draft for sending, or its beginning: this text and these files. Resolves when the message may be sent. `onSent`
   * or `onRefused` follows.
   */
  take(text: string = this.text, files: readonly Attachment[] = this.files): Promise<void> {
    clearTimeout(this.timer);
    const { chatId, lastSaved: saved } = this;
    this.taken.push({ content: joinContent(text.trim(), files), chatId, text, files, saved, refused: false });
    this.text = without(this.text, text);
    this.files = this.files.slice(files.length);
    this.saved = this.text === "" ? "" : null;
    return this.saving;
  }

  /** Keep a question that was not typed as the draft, until it has arrived. */
  hold(content: string): void {
    const known = this.find(content);
    if (known !== undefined) known.refused = false;
    else if (!this.closed) {
      this.taken.push({ content, chatId: this.chatId, ...splitContent(content), saved: this.lastSaved, refused: false });
      this.keep(this.chatId, this.files);
      this.store();
    }
  }

  /** Move a taken draft of the empty page to the chat that was created for it. */
  async onCreated(content: string, chatId: string): Promise<void> {
    const taken = this.find(content);
    if (taken?.chatId !== null) return;
    drop(taken);
    taken.chatId = chatId;
    storeText(chatId, taken.text);
    storeFiles(chatId, taken.files);
    // The server drops the draft with the message only if both are equal, and not if it refuses the message. An earlier state
    // of the message would come back.
    await this.saving;
    const draft = await this.api.draft(null).catch(() => null);
    if (draft !== null && [taken.text.trim(), content, taken.saved.trim()].includes(draft.text.trim())) {
      await this.api.putDraft(null, "").catch(() => undefined);
    }
  }

  /** Erase the stored copy of a question that has arrived. */
  onSent(content: string): void {
    const taken = this.find(content);
    if (taken === undefined) return;
    this.taken = this.taken.filter((other) => other !== taken);
    drop(taken);
    if (taken.chatId !== this.chatId || (this.text === "" && this.saved === "")) return;
    // The server dropped the draft with the message, before or after it was saved for the last time.
    this.saved = null;
    this.flush();
  }

  /** Keep a question that was refused as the draft of its chat, which is shown once the chat is opened again. */
  onRefused(content: string): void {
    const taken = this.find(content);
    if (taken === undefined) return;
    taken.refused = true;
    if (taken.chatId === this.chatId) this.flush();
  }

  /** Erase everything from the browser, and store nothing more. The server keeps its copies. */
  forget(): void {
    clearTimeout(this.timer);
    this.closed = true;
    this.text = "";
    this.saved = "";
    this.files = [];
    this.taken = [];
    eraseStored();
  }

  /** Everything unsent of the open chat, as the server stores it: with files only if they belong to a refused question. */
  private get content(): string {
    const { chatId } = this;
    const withFiles = chatId !== null && this.takenOf(chatId).some(({ refused }) => refused);
    return joinContent(this.unsentText, withFiles ? this.unsentFiles : []);
  }

  private get unsentText(): string {
    return joined([...this.takenOf(this.chatId).map(({ text }) => text), this.text]);
  }

  private get unsentFiles(): readonly Attachment[] {
    return [...this.takenOf(this.chatId).flatMap(({ files }) => files), ...this.files];
  }

  private get empty(): boolean {
    return this.unsentText === "" && this.unsentFiles.length === 0 && !this.reading;
  }

  private takenOf(chatId: string | null): Taken[] {
    return this.taken.filter((taken) => taken.chatId === chatId);
  }

  private find(content: string): Taken | undefined {
    return this.taken.find((taken) => taken.content === content);
  }

  private async load(id: string | null): Promise<void> {
    this.flush();
    this.closed = false;
    this.chatId = id;
    this.saved = "";
    this.lastSaved = "";
    this.loading = false;
    this.overflow = null;
    // The page no longer shows refused questions of this chat above the field.
    this.taken = this.taken.filter((taken) => taken.chatId !== id || !taken.refused);
    const sending = this.takenOf(id);
    const stored = storedText(id);
    this.files = storedFiles(id).slice(sending.flatMap(({ files }) => files).length);
    this.text = sending.reduce((text, taken) => without(text, taken.text), stored ?? "");
    if (sending.length > 0) return;
    if (stored !== null) {
      this.saved = null;
      return this.flush();
    }
    this.loading = true;
    const draft = await this.fetch();
    if (id !== this.chatId) return;
    this.loading = false;
    const typed = this.text;
    if (draft) this.show(draft);
    // What was typed in the meantime comes after the draft. Without one the text stays as it is, because it may be about to
    // be sent.
    if (typed !== "") this.type(draft && this.text !== "" ? `${this.text}\n\n${typed}` : typed);
  }

  /** Return the draft of the open chat on the server; null if the page needs none by then, or there is no connection. */
  private async fetch(): Promise<string | null> {
    const { chatId } = this;
    if (this.takenOf(chatId).length > 0) return null;
    const draft = await this.api.draft(chatId).catch(() => null);
    return draft === null || chatId !== this.chatId || this.takenOf(chatId).length > 0 ? null : draft.text;
  }

  private show(draft: string): void {
    // A refused question is stored with its files.
    const { text, files } = splitContent(draft);
    if (files.length > 0 && this.files.length === 0) this.keep(this.chatId, files);
    this.saved = text;
    this.lastSaved = draft;
    this.text = text;
  }

  private add(chatId: string | null, file: Attachment): void {
    this.keep(chatId, [...(chatId === this.chatId ? this.files : storedFiles(chatId)), file]);
  }

  private keep(chatId: string | null, files: readonly Attachment[]): void {
    if (this.closed) return;
    if (chatId === this.chatId) this.files = files;
    const kept = storeFiles(chatId, chatId === this.chatId ? this.unsentFiles : files);
    if (chatId === this.chatId) this.overflow = kept ? this.overflowOf(true) : "browser";
  }

  private store(): void {
    this.overflow = this.overflowOf(storeText(this.chatId, this.unsentText));
  }

  private overflowOf(isStored: boolean): "server" | "browser" | null {
    if (!isStored) return "browser";
    return isTooLarge(this.content) ? "server" : null;
  }

  private flush(): void {
    clearTimeout(this.timer);
    const { chatId, content, unsentText, empty } = this;
    if (this.closed || content === this.saved) return;
    if (isTooLarge(content)) {
      // The server has an older text at most.
      this.saved = null;
      return;
    }
    this.lastSaved = content;
    this.saving = this.saving
      .then(async () => {
        await this.api.putDraft(chatId, content);
        if (storedText(chatId) === unsentText) storeText(chatId, null);
        if (chatId === this.chatId) this.saved = content;
        if (chatId !== null && empty && (chatId !== this.chatId || this.empty)) this.onEmptied(chatId);
      })
      .catch((error: unknown) => {
        if (chatId !== this.chatId) return;
        // A request whose answer was lost may have arrived.
        this.saved = null;
        if (!(error instanceof ApiError) || error.transient) return;
        this.overflow = error.status === TOO_LARGE ? "server" : describeError(error);
      });
  }
}

/** Return whether the server refuses a draft for its size. */
function isTooLarge(text: string): boolean {
  if (text.length > MAX_BYTES) return true;
  // Most texts are short enough whatever their characters are.
  if ((text.length + 20) * CHARACTER_BYTES <= MAX_BYTES) return false;
  return new TextEncoder().encode(JSON.stringify({ text })).length > MAX_BYTES;
}

/** Drop a question from the beginning of the unsent text and files that the browser keeps of its chat. */
function drop({ chatId, text, files }: Taken): void {
  const stored = storedText(chatId);
  const rest = without(stored ?? "", text);
  if (rest !== stored) storeText(chatId, rest === "" ? null : rest);
  const kept = storedFiles(chatId);
  if (JSON.stringify(kept.slice(0, files.length)) === JSON.stringify(files)) storeFiles(chatId, kept.slice(files.length));
}

/** Join the texts of messages to one draft. */
export function joined(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n\n");
}

/** Return joined texts without the first one. */
export function without(text: string, beginning: string): string {
  if (beginning === "") return text;
  if (text === beginning) return "";
  return text.startsWith(`${beginning}\n\n`) ? text.slice(beginning.length + 2) : text;
}
