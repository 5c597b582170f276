import { describe } from "../services/errors";

const SHOWN_MS = 6_000;

/** One short notice at a time, for what went wrong outside of an answer. */
export class Notices {
  current = $state<string | null>(null);
  private timer: ReturnType<typeof setTimeout> | undefined;

  show(text: string): void {
    this.current = text;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.dismiss(), SHOWN_MS);
  }

  /** Shows why `action` failed, as in "The chat was not renamed." */
  failed(action: string, error: unknown): void {
    const { what, todo } = describe(error);
    this.show(`${action} ${what} ${todo}`);
  }

  dismiss(): void {
    clearTimeout(this.timer);
    this.current = null;
  }
}
