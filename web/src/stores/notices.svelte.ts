import { describeError } from "../services/api/errors";

const SHOWN_MS = 6_000;
/** Who can do something about it needs time to get there. */
const SHOWN_WITH_REMEDY_MS = 12_000;

/** What a person may do about a notice. */
export interface Remedy {
  label: string;
  act: () => void;
}

/** One short notice at a time, for what happened outside of an answer. */
export class Notices {
  current = $state<string | null>(null);
  remedy = $state<Remedy | null>(null);
  private timer: ReturnType<typeof setTimeout> | undefined;

  show(text: string, remedy: Remedy | null = null): void {
    this.current = text;
    this.remedy = remedy;
    this.release();
  }

  /** It is being read: it stays until `release`. */
  hold(): void {
    clearTimeout(this.timer);
  }

  /** It goes by itself after a while. */
  release(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.dismiss(), this.remedy === null ? SHOWN_MS : SHOWN_WITH_REMEDY_MS);
  }

  /** Shows why `action` failed, as in "The chat was not renamed." */
  failed(action: string, error: unknown): void {
    const { what, todo } = describeError(error);
    this.show(`${action} ${what} ${todo}`);
  }

  dismiss(): void {
    clearTimeout(this.timer);
    this.current = null;
    this.remedy = null;
  }
}
