import { Pace } from "../services/scrolling/pace";

/** Letters that are parsed in one step, and in the first one. */
const [LEAST, MOST, FIRST] = [4_000, 128_000, 16_000];
/** Growth of the time for a letter which shows that the parser reads all of the text with each step. */
const MOST_GROWTH = 4;

/** Steps in which a long text is parsed before it is drawn, each in a task of its own. */
export class ParseSteps {
  private isParsed = $state(false);
  private letters = 0;
  /** Time of the first step for a letter, in ms. */
  private first = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly pace = new Pace(LEAST, MOST, FIRST);

  /** length: returns the number of letters of the text. parse: parses so many of them, for a parser that goes on from there. */
  constructor(
    private readonly length: () => number,
    private readonly parse: (letters: number) => void,
    private readonly printing: { readonly now: boolean },
  ) {
    this.next();
  }

  /** Whether the rest of the text is little enough for the task that draws it. */
  get done(): boolean {
    return this.isParsed || this.printing.now;
  }

  end(): void {
    clearTimeout(this.timer);
  }

  private next(): void {
    const { amount } = this.pace;
    this.isParsed = this.length() - this.letters <= amount;
    if (this.isParsed) return;
    const began = performance.now();
    this.letters += amount;
    this.parse(this.letters);
    const took = performance.now() - began;
    this.pace.took(amount, took);
    this.first ||= took / amount;
    // The rest is parsed at once then, because steps would only cost more.
    this.isParsed = this.pace.amount < FIRST && took / amount > MOST_GROWTH * this.first;
    if (!this.isParsed) this.timer = setTimeout(() => this.next());
  }
}
