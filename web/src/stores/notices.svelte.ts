import { describeError } from "../services/api/errors";

const SHOWN_MS = 6_000;
/** A notice with a button stays longer, so that the button can be reached. */
const SHOWN_WITH_ACTION_MS = 12_000;

/** Button of a notice. */
export interface NoticeAction {
  label: string;
  act: () => void;
}

/** The current notice: one short message about an event outside of the conversation. */
export class Notices {
  current = $state<string | null>(null);
  action = $state<NoticeAction | null>(null);
  private timer: ReturnType<typeof setTimeout> | undefined;

  show(text: string, action: NoticeAction | null = null): void {
    this.current = text;
    this.action = action;
    this.release();
  }

  /** Keep the notice until `release`, while the person reads it. */
  hold(): void {
    clearTimeout(this.timer);
  }

  /** Dismiss the notice after a while. */
  release(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.dismiss(), this.action === null ? SHOWN_MS : SHOWN_WITH_ACTION_MS);
  }

  /** Show a failure, as in "The chat was not renamed.", with its reason. */
  failed(failure: string, error: unknown): void {
    const { what, todo } = describeError(error);
    this.show(`${failure} ${what} ${todo}`);
  }

  dismiss(): void {
    clearTimeout(this.timer);
    this.current = null;
    this.action = null;
  }
}
