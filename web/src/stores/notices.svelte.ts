import { t } from "../i18n/language.svelte";
import { describeError } from "../services/api/errors";
import { sentences } from "../services/format/sentences";

const SHOWN_MS = 6_000;
/** A notice with a button stays longer, so that the button can be reached. */
const SHOWN_WITH_ACTION_MS = 12_000;
/** Each further line takes time to read. */
const FURTHER_LINE_MS = 3_000;

/** Button of a notice. */
export interface NoticeAction {
  label: string;
  act: () => void;
  /** Button for the other answer to a question. The notice then stays until the person answers. */
  refusal?: Omit<NoticeAction, "refusal">;
}

/** The chat that a notice is about: `id` is null on the empty page. */
export interface AboutChat {
  id: string | null;
}

interface Notice {
  text: string;
  action: NoticeAction | null;
}

/** How far a long piece of work is. */
export interface Progress {
  text: string;
  done: number;
  total: number;
}

/** The current notice: one short message about an event. A notice about a chat is shown only while that chat is open. */
export class Notices {
  current = $state<string | null>(null);
  action = $state<NoticeAction | null>(null);
  /** The work that takes long; null if there is none. It stays above the notice. */
  progress = $state.raw<Progress | null>(null);
  /** The open chat; null on the empty page. */
  private openChat: string | null = null;
  /** Whether the notice is about the open chat, and is dismissed with it. */
  private ofChat = false;
  /** The newest notice about each chat that was not open at the time. */
  private readonly waiting = new Map<string | null, Notice>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** about: the chat that the notice is about; null if it is about anything else. */
  show(text: string, action: NoticeAction | null = null, about: AboutChat | null = null): void {
    if (about !== null && about.id !== this.openChat) {
      this.waiting.set(about.id, { text, action });
      return;
    }
    this.current = text;
    this.action = action;
    this.ofChat = about !== null;
    this.release();
  }

  /** Replace the open chat, and a notice about the one before by a notice that waits for this one. */
  enter(id: string | null): void {
    this.openChat = id;
    if (this.ofChat) this.dismiss();
    const notice = this.waiting.get(id);
    if (notice === undefined) return;
    this.waiting.delete(id);
    this.show(notice.text, notice.action, { id });
  }

  /** Keep the notice until `release`, while the person reads it. */
  hold(): void {
    clearTimeout(this.timer);
  }

  /** Dismiss the notice after a while. */
  release(): void {
    clearTimeout(this.timer);
    if (this.action?.refusal) return;
    const lines = this.current?.split("\n").length ?? 1;
    const shown = this.action === null ? SHOWN_MS : SHOWN_WITH_ACTION_MS;
    this.timer = setTimeout(() => this.dismiss(), shown + (lines - 1) * FURTHER_LINE_MS);
  }

  /** Show a change with a button that reverts it. `failure` is shown with the reason if that fails; about: as in `show`. */
  offerUndo(text: string, undo: () => Promise<unknown>, failure = "", about: AboutChat | null = null): void {
    const act = () => void undo().catch((error: unknown) => this.failed(failure, error, about));
    this.show(text, { label: t().undo, act }, about);
  }

  /**
   * Show a failure, as in "The chat was not renamed.", with its reason; about: as in `show`. An empty failure leaves the
   * reason. A request that the page aborted, as when the chat is left, is no failure.
   */
  failed(failure: string, error: unknown, about: AboutChat | null = null): void {
    if (error instanceof Error && error.name === "AbortError") return;
    const { what, todo } = describeError(error);
    this.show(sentences(failure, what, todo), null, about);
  }

  dismiss(): void {
    clearTimeout(this.timer);
    this.current = null;
    this.action = null;
    this.ofChat = false;
  }
}
