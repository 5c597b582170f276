import type { Api } from "../services/api";

const PAUSE_MS = 400;
const KEPT = "ebb-draft:";

/**
 * What is typed and not sent in the open chat. The browser keeps it with every key, the server a moment later; the
 * browser's copy goes when the server has it, so a copy that is there is newer than the server's.
 */
export class Drafts {
  text = $state("");

  private place: string | null = null;
  /** What the server has. */
  private known = "";
  /** What is being sent, until it has arrived. */
  private taken: { place: string | null; text: string } | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private putting: Promise<void> = Promise.resolve();

  constructor(private readonly api: Api) {}

  /** Shows the draft of conversation `id`, or of the empty page. */
  async open(id: string | null): Promise<void> {
    this.flush();
    this.place = id;
    this.known = "";
    const kept = localStorage.getItem(keyOf(id));
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
    this.text = text;
    localStorage.setItem(keyOf(this.place), text);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), PAUSE_MS);
  }

  /** The text is being sent: the field is empty, but the text stays kept until `sent`. Resolves when it may be sent. */
  take(): Promise<void> {
    clearTimeout(this.timer);
    this.taken = { place: this.place, text: this.text };
    this.text = "";
    this.known = "";
    return this.putting;
  }

  /** The message has arrived, and with it the text that was taken. */
  sent(content: string): void {
    const { taken } = this;
    if (taken === null || !content.startsWith(taken.text.trim())) return;
    this.taken = null;
    const key = keyOf(taken.place);
    if (localStorage.getItem(key) === taken.text) localStorage.removeItem(key);
    // The server forgets a draft with its message by itself, that of the empty page only if they are the same.
    if (taken.place === null && taken.text !== content) void this.api.putDraft(null, "").catch(() => undefined);
  }

  private flush(): void {
    clearTimeout(this.timer);
    const { place, text } = this;
    if (text === this.known) return;
    this.putting = this.putting.then(async () => {
      await this.api.putDraft(place, text);
      if (localStorage.getItem(keyOf(place)) === text) localStorage.removeItem(keyOf(place));
      if (place === this.place) this.known = text;
    }).catch(() => undefined);
  }
}

function keyOf(id: string | null): string {
  return KEPT + (id ?? "");
}
