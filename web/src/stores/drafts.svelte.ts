import type { ApiClient } from "../services/api/client";
import { joined, split, type Attachment } from "../services/chat/attachments";
import { randomDigits } from "../services/chat/ids";

const PAUSE_MS = 400;
const KEPT = "ebb-draft:";
const KEPT_FILES = "ebb-files:";
/** Names the person whose files tabs keep; files under another name are somebody else's. */
const OWNER = "ebb-files-of";

/** What goes with the next message of one chat, or of the empty page. */
interface Draft {
  place: string | null;
  text: string;
  files: readonly Attachment[];
}

/**
 * What is typed and attached and not sent in the open chat. The browser keeps the text with every key, the server a
 * moment later; the browser's copy goes when the server has it, so a copy that is there is newer than the server's.
 * The files stay in the tab. All of it is the person's: it goes with the login, on every tab.
 */
export class Drafts {
  text = $state("");
  files = $state.raw<readonly Attachment[]>([]);

  private place: string | null = null;
  /** The person has left: nothing is kept until a chat is opened again. */
  private shut = false;
  /** What the server has. */
  private known = "";
  /** What is being sent, until it has arrived. */
  private taken: Draft | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private putting: Promise<void> = Promise.resolve();

  constructor(private readonly api: ApiClient) {}

  /** Shows the draft of conversation `id`, or of the empty page. */
  async open(id: string | null): Promise<void> {
    this.flush();
    this.shut = false;
    this.place = id;
    this.known = "";
    this.files = keptFiles(id);
    const kept = localStorage.getItem(keyOf(KEPT, id));
    this.text = kept ?? "";
    if (kept !== null) return this.flush();
    await this.refresh();
  }

  /** Takes in what another tab typed, unless something was typed here that the server has not. */
  async refresh(): Promise<void> {
    const { place, text } = this;
    if (text !== this.known) return;
    const draft = await this.api.draft(place).catch(() => null);
    if (draft === null || place !== this.place || text !== this.text) return;
    this.known = draft.text;
    this.text = draft.text;
  }

  type(text: string): void {
    if (this.shut) return;
    this.text = text;
    localStorage.setItem(keyOf(KEPT, this.place), text);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), PAUSE_MS);
  }

  /** Adds a file to the draft that is open now, whichever is when it has been read. */
  async attach(reading: Promise<Attachment>): Promise<void> {
    const { place } = this;
    const file = await reading;
    this.keep(place, [...(place === this.place ? this.files : keptFiles(place)), file]);
  }

  detach(file: Attachment): void {
    this.keep(this.place, this.files.filter((other) => other !== file));
  }

  /** A message that was not sent is a draft again, before what was typed since. */
  restore(content: string): void {
    const { text, files } = split(content);
    this.type([text, this.text].filter((part) => part !== "").join("\n\n"));
    this.keep(this.place, [...files, ...this.files]);
  }

  /** All of it is being sent: the field is empty, but it stays kept until `sent`. Resolves when it may be sent. */
  take(): Promise<void> {
    clearTimeout(this.timer);
    this.taken = { place: this.place, text: this.text, files: this.files };
    this.text = "";
    this.files = [];
    this.known = "";
    return this.putting;
  }

  /** The message has arrived, and with it what was taken. */
  sent(content: string): void {
    const { taken } = this;
    if (taken === null || content !== joined(taken.text.trim(), taken.files)) return;
    this.taken = null;
    if (JSON.stringify(keptFiles(taken.place)) === JSON.stringify(taken.files)) this.keep(taken.place, []);
    const key = keyOf(KEPT, taken.place);
    if (localStorage.getItem(key) === taken.text) localStorage.removeItem(key);
    // The server forgets a draft with its message by itself, that of the empty page only if they are the same.
    if (taken.place === null && taken.text !== content) void this.api.putDraft(null, "").catch(() => undefined);
  }

  /** Nothing is left in the browser, and nothing new is kept; what the server has stays there. */
  forget(): void {
    clearTimeout(this.timer);
    this.shut = true;
    this.text = "";
    this.known = "";
    this.files = [];
    this.taken = null;
    // Tabs that hear of nothing now, as they sleep, find their files to be of somebody else.
    localStorage.removeItem(OWNER);
    for (const [storage, prefix] of [[localStorage, KEPT], [sessionStorage, KEPT_FILES]] as const) {
      for (const key of Object.keys(storage)) if (key.startsWith(prefix)) storage.removeItem(key);
    }
  }

  private keep(place: string | null, files: readonly Attachment[]): void {
    if (this.shut) return;
    if (place === this.place) this.files = files;
    try {
      if (files.length > 0) sessionStorage.setItem(keyOf(KEPT_FILES, place), JSON.stringify({ of: owner(), files }));
      else sessionStorage.removeItem(keyOf(KEPT_FILES, place));
    } catch {
      // There is room for more than any model reads; what does not fit goes when the chat is left.
    }
  }

  private flush(): void {
    clearTimeout(this.timer);
    const { place, text } = this;
    if (text === this.known) return;
    this.putting = this.putting.then(async () => {
      await this.api.putDraft(place, text);
      if (localStorage.getItem(keyOf(KEPT, place)) === text) localStorage.removeItem(keyOf(KEPT, place));
      if (place === this.place) this.known = text;
    }).catch(() => undefined);
  }
}

function keyOf(prefix: string, id: string | null): string {
  return prefix + (id ?? "");
}

function keptFiles(id: string | null): readonly Attachment[] {
  const kept = sessionStorage.getItem(keyOf(KEPT_FILES, id));
  if (kept === null) return [];
  const { of, files } = JSON.parse(kept) as { of?: string; files?: Attachment[] };
  if (of !== undefined && of === localStorage.getItem(OWNER) && files !== undefined) return files;
  sessionStorage.removeItem(keyOf(KEPT_FILES, id));
  return [];
}

/** The name under which tabs keep files until the person leaves. It says nothing about the person. */
function owner(): string {
  const known = localStorage.getItem(OWNER) ?? randomDigits();
  localStorage.setItem(OWNER, known);
  return known;
}
