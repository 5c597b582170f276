import { untrack } from "svelte";

/** How many messages are drawn at the end of a chat. */
const AT_END = 20;
/** When it is opened, of long messages only what fills a screen: with all of them the first frame would come late. */
const LEAST_AT_FIRST = 2;
const CHARACTERS_AT_FIRST = 1_200;
/** By how many more at a time: a question and its answer, as a frame has room for no more. */
export const STEP = 2;

/** Which messages of a long chat are drawn: the last ones, and earlier ones as they are looked for. */
export class MessageWindow {
  private revealed = $state(0);
  /** How many of those at the end were left out at first; null while there are none. */
  private heldBack: number | null = null;

  constructor(
    private readonly messages: () => readonly { content: string }[],
    private readonly printing: { readonly now: boolean },
  ) {}

  /** Of the first message that is drawn. It moves in steps, so that the top is not redrawn with every message. */
  readonly from = $derived.by(() => {
    const { length } = this.messages();
    if (this.printing.now) return 0;
    if (length > 0) this.heldBack ??= untrack(() => this.beyondFirst());
    const hidden = Math.max(0, Math.ceil((length - AT_END) / STEP) * STEP) + (this.heldBack ?? 0);
    return Math.max(0, hidden - this.revealed);
  });

  /** Of the messages that are drawn, the index of every STEPth: what they hold together stays as messages come. */
  readonly starts = $derived.by(() => {
    const length = Math.max(0, Math.ceil((this.messages().length - this.from) / STEP));
    return Array.from({ length }, (_, step) => this.from + step * STEP);
  });

  reset(): void {
    this.heldBack = null;
    this.revealed = 0;
  }

  reveal(): void {
    this.revealed += STEP;
  }

  /** Draws what is needed to show message `index`. */
  revealTo(index: number): void {
    if (index < this.from) this.revealed += Math.ceil((this.from - index) / STEP) * STEP;
  }

  private beyondFirst(): number {
    const messages = this.messages().slice(-AT_END);
    let [first, characters] = [messages.length, 0];
    while (first > 0 && (messages.length - first < LEAST_AT_FIRST || characters < CHARACTERS_AT_FIRST)) {
      characters += messages[--first]!.content.length;
    }
    return Math.floor(first / STEP) * STEP;
  }
}
