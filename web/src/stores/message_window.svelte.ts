import { untrack } from "svelte";

/** Number of messages that are mounted at the end of a chat. */
const AT_END = 20;
/** Opening a chat mounts only enough messages to fill a screen, so that the first frame is not late. */
const MIN_AT_FIRST = 2;
const CHARACTERS_AT_FIRST = 1_200;
/** Messages of a section. With more sections or larger ones, each new message would move more boxes. */
const PER_SECTION = 32;

/** The range of a long chat's messages that is mounted: the last ones, and earlier ones as the person scrolls up. */
export class MessageWindow {
  private revealed = $state(0);
  /** Messages at the end that were left out at first; null while the chat is empty. */
  private heldBack: number | null = null;

  constructor(
    private readonly messages: () => readonly { content: string }[],
    private readonly printing: { readonly now: boolean },
  ) {}

  /** Index of the first mounted message. */
  readonly from = $derived.by(() => {
    const { length } = this.messages();
    if (this.printing.now) return 0;
    if (length > 0) this.heldBack ??= untrack(() => this.beyondFirst());
    const hidden = Math.max(0, length - AT_END) + (this.heldBack ?? 0);
    return Math.max(0, hidden - this.revealed);
  });

  /**
   * Sections of the mounted messages, each with the index of its first message and the one after its last. New messages and
   * earlier ones leave the other sections unchanged.
   */
  readonly sections = $derived.by(() => {
    const { length } = this.messages();
    const first = Math.floor(this.from / PER_SECTION);
    return Array.from({ length: Math.max(0, Math.ceil(length / PER_SECTION) - first) }, (_, at) => {
      const begin = (first + at) * PER_SECTION;
      return { number: first + at, from: Math.max(this.from, begin), to: Math.min(length, begin + PER_SECTION) };
    });
  });

  /** Return to the end, for another chat. */
  reset(): void {
    this.heldBack = null;
    this.revealed = 0;
  }

  /** Mount the message above. One at a time fits into a frame, even if the browser collects garbage in it. */
  reveal(): void {
    this.revealed += 1;
  }

  /** Mount all messages from `index` on. */
  revealTo(index: number): void {
    this.revealed += Math.max(0, this.from - index);
  }

  private beyondFirst(): number {
    const messages = this.messages().slice(-AT_END);
    let [first, characters] = [messages.length, 0];
    while (first > 0 && (messages.length - first < MIN_AT_FIRST || characters < CHARACTERS_AT_FIRST)) {
      characters += messages[--first]!.content.length;
    }
    return first;
  }
}
