/** How many messages are drawn when a chat is opened. */
const AT_FIRST = 20;
/** By how many more at a time: a question and its answer, as a frame has room for no more. */
export const STEP = 2;

/** Which messages of a long chat are drawn: the last ones, and earlier ones as they are looked for. */
export class MessageWindow {
  private revealed = $state(0);

  constructor(private readonly count: () => number) {}

  /** Of the first message that is drawn. It moves in steps, so that the top is not redrawn with every message. */
  readonly from = $derived.by(() => {
    const hidden = Math.ceil((this.count() - AT_FIRST) / STEP) * STEP;
    return Math.max(0, hidden - this.revealed);
  });

  /** Of the messages that are drawn, the index of every STEPth: what they hold together stays as messages come. */
  readonly starts = $derived.by(() => {
    const length = Math.max(0, Math.ceil((this.count() - this.from) / STEP));
    return Array.from({ length }, (_, step) => this.from + step * STEP);
  });

  reset(): void {
    this.revealed = 0;
  }

  reveal(): void {
    this.revealed += STEP;
  }

  /** Draws what is needed to show message `index`. */
  revealTo(index: number): void {
    if (index < this.from) this.revealed += Math.ceil((this.from - index) / STEP) * STEP;
  }
}
