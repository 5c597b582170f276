import type { ApiClient } from "../services/api/client";
import { joinContent, splitContent, type Attachment } from "../services/chat/attachments";
import { randomDigits } from "../services/chat/ids";

const PAUSE_MS = 400;
const TEXT_KEY = "ebb-draft:";
const FILES_KEY = "ebb-files:";
/** Key of the random name of the person logged in. Stored files with another name belong to someone else. */
const OWNER_KEY = "ebb-files-of";

/** Unsent message of a chat, or of the empty page. */
interface Draft {
  chatId: string | null;
  text: string;
  files: readonly Attachment[];
}

/**
 * Unsent text and files of the open chat. The browser stores the text with every key press, the server stores it a moment
 * later. The browser then drops its copy, so a copy that exists is newer than the server's. The files stay in the tab.
 * Logging out erases all of it, in every tab.
 */
export class Drafts {
  text = $state("");
  files = $state.raw<readonly Attachment[]>([]);

  private chatId: string | null = null;
  /** Whether the person has left. Nothing is stored until a chat is opened again. */
  private closed = false;
  /** The text that the server has. */
  private saved = "";
  /** The draft that is being sent, until its message has arrived. */
  private taken: Draft | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private saving: Promise<void> = Promise.resolve();

  constructor(private readonly api: ApiClient) {}

  /** Show the draft of conversation `id`, or of the empty page. */
  async open(id: string | null): Promise<void> {
    this.flush();
    this.closed = false;
    this.chatId = id;
    this.saved = "";
    this.files = storedFiles(id);
    const stored = localStorage.getItem(keyOf(TEXT_KEY, id));
    this.text = stored ?? "";
    if (stored !== null) return this.flush();
    await this.refresh();
  }

  /** Reread the text that another tab typed, unless the text here is not saved yet. */
  async refresh(): Promise<void> {
    const { chatId, text } = this;
    if (text !== this.saved) return;
    const draft = await this.api.draft(chatId).catch(() => null);
    if (draft === null || chatId !== this.chatId || text !== this.text) return;
    // A refused question is stored with its files.
    const { text: typed, files } = splitContent(draft.text);
    if (files.length > 0 && this.files.length === 0) this.keep(chatId, files);
    this.saved = typed;
    this.text = typed;
  }

  /** Replace the text, store it in the browser, and save it on the server after a pause. */
  type(text: string): void {
    if (this.closed) return;
    this.text = text;
    localStorage.setItem(keyOf(TEXT_KEY, this.chatId), text);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), PAUSE_MS);
  }

  /** Add a file to the draft that is open now, even if another one is open by the time the file has been read. */
  async attach(reading: Promise<Attachment>): Promise<void> {
    const { chatId } = this;
    const file = await reading;
    this.keep(chatId, [...(chatId === this.chatId ? this.files : storedFiles(chatId)), file]);
  }

  detach(file: Attachment): void {
    this.keep(this.chatId, this.files.filter((other) => other !== file));
  }

  /** Turn an unsent message back into a draft, in front of the text typed since. */
  restore(content: string): void {
    const { text, files } = splitContent(content);
    this.type([text, this.text].filter((part) => part !== "").join("\n\n"));
    this.keep(this.chatId, [...files, ...this.files]);
  }

  /** Empty the draft for sending, but keep the stored copy until `onSent`. Resolves when the message may be sent. */
  take(): Promise<void> {
    clearTimeout(this.timer);
    this.taken = { chatId: this.chatId, text: this.text, files: this.files };
    this.text = "";
    this.files = [];
    this.saved = "";
    return this.saving;
  }

  /** Erase the stored copy of a taken draft whose message has arrived. */
  onSent(content: string): void {
    const { taken } = this;
    if (taken === null || content !== joinContent(taken.text.trim(), taken.files)) return;
    this.taken = null;
    if (JSON.stringify(storedFiles(taken.chatId)) === JSON.stringify(taken.files)) this.keep(taken.chatId, []);
    const key = keyOf(TEXT_KEY, taken.chatId);
    if (localStorage.getItem(key) === taken.text) localStorage.removeItem(key);
    // The server drops a chat's draft with its message, but that of the empty page only if both texts are equal.
    if (taken.chatId === null && taken.text !== content) void this.api.putDraft(null, "").catch(() => undefined);
  }

  /**
   * Move a taken draft of the empty page, with its files, to the chat that was created for it: the server did not take the
   * message. The page shows the message until it is reloaded, and the chat's draft afterwards.
   */
  async onRefused(content: string, chatId: string | null): Promise<void> {
    const { taken } = this;
    if (taken?.chatId !== null || chatId === null || content !== joinContent(taken.text.trim(), taken.files)) return;
    try {
      await this.api.putDraft(chatId, content);
      await this.api.putDraft(null, "");
    } catch {
      // The draft stays where it is.
      return;
    }
    if (localStorage.getItem(keyOf(TEXT_KEY, null)) === taken.text) localStorage.removeItem(keyOf(TEXT_KEY, null));
    this.keep(null, []);
  }

  /** Erase everything from the browser, and store nothing more. The server keeps its copies. */
  forget(): void {
    clearTimeout(this.timer);
    this.closed = true;
    this.text = "";
    this.saved = "";
    this.files = [];
    this.taken = null;
    // Sleeping tabs miss the message, and later find that their files have another owner.
    localStorage.removeItem(OWNER_KEY);
    for (const [storage, prefix] of [[localStorage, TEXT_KEY], [sessionStorage, FILES_KEY]] as const) {
      for (const key of Object.keys(storage)) if (key.startsWith(prefix)) storage.removeItem(key);
    }
  }

  private keep(chatId: string | null, files: readonly Attachment[]): void {
    if (this.closed) return;
    if (chatId === this.chatId) this.files = files;
    try {
      if (files.length > 0) sessionStorage.setItem(keyOf(FILES_KEY, chatId), JSON.stringify({ of: owner(), files }));
      else sessionStorage.removeItem(keyOf(FILES_KEY, chatId));
    } catch {
      // The storage holds more than any model reads. Files beyond it are lost when the chat is left.
    }
  }

  private flush(): void {
    clearTimeout(this.timer);
    const { chatId, text } = this;
    if (text === this.saved) return;
    this.saving = this.saving.then(async () => {
      await this.api.putDraft(chatId, text);
      if (localStorage.getItem(keyOf(TEXT_KEY, chatId)) === text) localStorage.removeItem(keyOf(TEXT_KEY, chatId));
      if (chatId === this.chatId) this.saved = text;
    }).catch(() => undefined);
  }
}

function keyOf(prefix: string, id: string | null): string {
  return prefix + (id ?? "");
}

function storedFiles(id: string | null): readonly Attachment[] {
  const stored = sessionStorage.getItem(keyOf(FILES_KEY, id));
  if (stored === null) return [];
  const { of, files } = JSON.parse(stored) as { of?: string; files?: Attachment[] };
  if (of !== undefined && of === localStorage.getItem(OWNER_KEY) && files !== undefined) return files;
  sessionStorage.removeItem(keyOf(FILES_KEY, id));
  return [];
}

/** Return the random name under which tabs store files until the person logs out. */
function owner(): string {
  const known = localStorage.getItem(OWNER_KEY) ?? randomDigits();
  localStorage.setItem(OWNER_KEY, known);
  return known;
}
