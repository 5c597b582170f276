import { describe } from "../services/errors";

const SHOWN_MS = 6_000;

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
    this.remedy = null;
  }
}
