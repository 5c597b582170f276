import { LineChunks } from "./line_chunks";

/** The HTML of a piece of code; of one that has grown since, of its beginning. */
export interface HighlightedChunk {
  text: string;
  html: string;
}

type Highlight = (code: string, language: string) => Promise<string[] | null>;

/** So many pieces change in one frame. */
const AT_ONCE = 4;
/** Code that grows is coloured all over again, so for each time follows a rest of so many such times, within bounds. */
const RESTS = 8;
const LEAST_REST_MS = 100;
const MOST_REST_MS = 1_000;

/** Colours one block of code, which may grow: `show` is told what there is, a few pieces more in each frame. */
export class IncrementalHighlight {
  private wanted = { code: "", language: "", growing: false };
  private shown: readonly HighlightedChunk[] = [];
  private busy = false;
  private ended = false;

  constructor(
    private readonly highlight: Highlight,
    private readonly show: (colours: readonly HighlightedChunk[]) => void,
  ) {}

  update(code: string, language: string, growing: boolean): void {
    this.wanted = { code, language, growing };
    if (!this.busy && !this.ended && language !== "" && code !== "") void this.run();
  }

  end(): void {
    this.ended = true;
  }

  private async run(): Promise<void> {
    this.busy = true;
    for (let done = ""; done !== this.wanted.code && !this.ended; ) {
      const { code, language } = this.wanted;
      const began = performance.now();
      const html = await this.highlight(code, language);
      if (html === null) return this.end();
      await this.draw(new LineChunks().update(code), html);
      done = code;
      const rest = Math.max(LEAST_REST_MS, Math.min(MOST_REST_MS, RESTS * (performance.now() - began)));
      if (this.wanted.growing && !this.ended) await new Promise((resolve) => setTimeout(resolve, rest));
    }
    this.busy = false;
  }

  private async draw(texts: readonly string[], html: readonly string[]): Promise<void> {
    const colours = this.shown.slice(0, html.length);
    let changed = 0;
    for (const [index, piece] of html.entries()) {
      if (colours[index]?.html === piece) continue;
      if (changed++ % AT_ONCE === AT_ONCE - 1) await this.frame(colours);
      if (this.ended) return;
      colours[index] = { text: texts[index]!, html: piece };
    }
    this.show((this.shown = colours));
  }

  private frame(colours: readonly HighlightedChunk[]): Promise<unknown> {
    this.show([...colours]);
    return new Promise(requestAnimationFrame);
  }
}
