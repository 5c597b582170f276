import { untrack } from "svelte";

/** Number of messages that are mounted at the end of a chat. */
const AT_END = 20;
/** Opening a chat mounts only enough messages to fill a screen, so that the first frame is not late. */
const MIN_AT_FIRST = 2;
const CHARACTERS_AT_FIRST = 1_200;
/** Messages that are mounted at once before and after one in the middle of a chat. */
const AROUND = 4;
/** Messages of a section. With more sections or larger ones, each new message would move more boxes. */
const PER_SECTION = 32;

/** A message that can be mounted. */
interface Mountable {
  content: string;
  key: string;
  place: number;
}

/** The loaded messages of a chat. */
interface Loaded<M> {
  readonly messages: readonly M[];
  readonly pages: {
    /** Index of the first message that does not follow the one before it; the number of messages if there is none. */
    readonly gap: number;
    /** Key of the message around which the chat is shown; null if its end is shown. */
    readonly around: string | null;
  };
}

/** Messages that share a box while they are far from the screen. */
export interface Section<M> {
  number: number;
  messages: M[];
}

/**
 * The range of a long chat's messages that is mounted: the last ones, and earlier ones as the person scrolls up; or those
 * around a message in the middle, and others as the person scrolls either way.
 */
export class MessageWindow<M extends Mountable> {
  private revealed = $state(0);
  /** Messages that were revealed around a message in the middle. */
  private beside = $state.raw({ around: "", above: 0, below: 0 });
  /** Messages at the end that were left out at first; null while the chat is empty. */
  private heldBack: number | null = null;

  constructor(
    private readonly chat: Loaded<M>,
    private readonly printing: { readonly now: boolean },
  ) {}

  /** Indexes of the first mounted message, and of the one after the last. */
  private readonly range = $derived.by(() => {
    const { messages, pages } = this.chat;
    const { length } = messages;
    if (this.printing.now) return { from: 0, to: length };
    const { around } = pages;
    const middle = around === null ? -1 : messages.findIndex(({ key }) => key === around);
    if (middle >= 0) {
      const { above, below } = this.besideOf(around!);
      return { from: Math.max(0, middle - AROUND - above), to: Math.min(pages.gap, middle + 1 + AROUND + below) };
    }
    if (length > 0) this.heldBack ??= untrack(() => this.beyondFirst());
    return { from: Math.max(0, this.hidden - this.revealed), to: length };
  });

  /** Index of the first mounted message. */
  readonly from = $derived(this.range.from);
  /** Index after the last mounted message. */
  readonly to = $derived(this.range.to);

  /**
   * Sections of the mounted messages. New messages, earlier ones and those of other pages leave the other sections
   * unchanged.
   */
  readonly sections = $derived.by(() => {
    const sections: Section<M>[] = [];
    for (const message of this.chat.messages.slice(this.from, this.to)) {
      const number = Math.floor(message.place / PER_SECTION);
      const last = sections.at(-1);
      if (last?.number === number) last.messages.push(message);
      else sections.push({ number, messages: [message] });
    }
    return sections;
  });

  /** Return to the end, for another chat. */
  reset(): void {
    this.heldBack = null;
    this.revealed = 0;
  }

  /** Mount the message above. One at a time fits into a frame, even if the browser collects garbage in it. */
  reveal(): void {
    const { around } = this.chat.pages;
    if (around === null) this.revealed += 1;
    else this.beside = { ...this.besideOf(around), above: this.besideOf(around).above + 1 };
  }

  /** Mount the message below. */
  revealLater(): void {
    const { around } = this.chat.pages;
    if (around !== null) this.beside = { ...this.besideOf(around), below: this.besideOf(around).below + 1 };
  }

  /** Mount all messages from `index` to the end. */
  revealTo(index: number): void {
    this.heldBack ??= this.beyondFirst();
    this.revealed = Math.max(this.revealed, this.hidden - index);
  }

  /** Messages before the mounted ones at the end of a chat, if none were revealed. */
  private get hidden(): number {
    return Math.max(0, this.chat.messages.length - AT_END) + (this.heldBack ?? 0);
  }

  private besideOf(around: string) {
    return this.beside.around === around ? this.beside : { around, above: 0, below: 0 };
  }

  private beyondFirst(): number {
    const messages = this.chat.messages.slice(-AT_END);
    let [first, characters] = [messages.length, 0];
    while (first > 0 && (messages.length - first < MIN_AT_FIRST || characters < CHARACTERS_AT_FIRST)) {
      characters += messages[--first]!.content.length;
    }
    return first;
  }
}
