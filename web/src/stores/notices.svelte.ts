import { describeError } from "../services/api/errors";

const SHOWN_MS = 6_000;
/** A notice with a button stays longer, so that the button can be reached. */
const SHOWN_WITH_ACTION_MS = 12_000;
/** Each further line takes time to read. */
const FURTHER_LINE_MS = 3_000;

/** Button of a notice. */
export interface NoticeAction {
  label: string;
  act: () => void;
}

/** The current notice: one short message about an event outside of the conversation. */
export class Notices {
  current = $state<string | null>(null);
  action = $state<NoticeAction | null>(null);
  /** Whether the notice is about the open chat, and is dismissed with it. */
  private ofChat = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  show(text: string, action: NoticeAction | null = null): void {
    this.current = text;
    this.action = action;
    this.ofChat = false;
    this.release();
  }

  /** Show lines about the open chat, until it is left. */
  showOfChat(lines: readonly string[]): void {
    this.show(lines.join("\n"));
    this.ofChat = true;
  }

  /** Dismiss a notice about the chat that was open. */
  leaveChat(): void {
    if (this.ofChat) this.dismiss();
  }

  /** Keep the notice until `release`, while the person reads it. */
  hold(): void {
    clearTimeout(this.timer);
  }

  /** Dismiss the notice after a while. */
  release(): void {
    clearTimeout(this.timer);
    const lines = this.current?.split("\n").length ?? 1;
    const shown = this.action === null ? SHOWN_MS : SHOWN_WITH_ACTION_MS;
    this.timer = setTimeout(() => this.dismiss(), shown + (lines - 1) * FURTHER_LINE_MS);
  }

  /** Show a failure, as in "The chat was not renamed.", with its reason. */
  failed(failure: string, error: unknown): void {
    this.show(textOfFailure(failure, error));
  }

  dismiss(): void {
    clearTimeout(this.timer);
    this.current = null;
    this.action = null;
  }
}

/** Describe a failure, as in "The chat was not renamed.", with its reason. */
export function textOfFailure(failure: string, error: unknown): string {
  const { what, todo } = describeError(error);
  return `${failure} ${what} ${todo}`;
}
