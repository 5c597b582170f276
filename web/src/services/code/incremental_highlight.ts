import { LineChunks } from "./line_chunks";

/** HTML of a chunk of code, or of the beginning of a chunk that has grown since. */
export interface HighlightedChunk {
  text: string;
  html: string;
}

type Highlight = (code: string, language: string) => Promise<string[] | null>;

/** Chunks that change in one frame. */
const CHUNKS_PER_FRAME = 4;
/** Growing code is highlighted as a whole each time, followed by a pause of so many such times, within bounds. */
const PAUSE_FACTOR = 8;
const MIN_PAUSE_MS = 100;
const MAX_PAUSE_MS = 1_000;

/** Highlighting of one code block that may grow. `show` receives the chunks, with a few changes per frame. */
export class IncrementalHighlight {
  private target = { code: "", language: "", growing: false };
  private shown: readonly HighlightedChunk[] = [];
  private busy = false;
  private ended = false;

  constructor(
    private readonly highlight: Highlight,
    private readonly show: (chunks: readonly HighlightedChunk[]) => void,
  ) {}

  update(code: string, language: string, growing: boolean): void {
    this.target = { code, language, growing };
    if (!this.busy && !this.ended && language !== "" && code !== "") void this.run();
  }

  end(): void {
    this.ended = true;
  }

  private async run(): Promise<void> {
    this.busy = true;
    for (let done = ""; done !== this.target.code && !this.ended; ) {
      const { code, language } = this.target;
      const began = performance.now();
      const html = await this.highlight(code, language);
      if (html === null) return this.end();
      await this.draw(new LineChunks().update(code), html);
      done = code;
      const pause = Math.max(MIN_PAUSE_MS, Math.min(MAX_PAUSE_MS, PAUSE_FACTOR * (performance.now() - began)));
      if (this.target.growing && !this.ended) await new Promise((resolve) => setTimeout(resolve, pause));
    }
    this.busy = false;
  }

  private async draw(texts: readonly string[], html: readonly string[]): Promise<void> {
    const chunks = this.shown.slice(0, html.length);
    let changed = 0;
    for (const [index, chunk] of html.entries()) {
      if (chunks[index]?.html === chunk) continue;
      if (changed++ % CHUNKS_PER_FRAME === CHUNKS_PER_FRAME - 1) await this.frame(chunks);
      if (this.ended) return;
      chunks[index] = { text: texts[index]!, html: chunk };
    }
    this.show((this.shown = chunks));
  }

  private frame(chunks: readonly HighlightedChunk[]): Promise<unknown> {
    this.show([...chunks]);
    return new Promise(requestAnimationFrame);
  }
}
