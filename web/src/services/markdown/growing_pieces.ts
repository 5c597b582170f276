import type { Inline } from "./blocks";
import { mayReachOver, renderPieces } from "./render";

/** Length of a segment of a long text, in UTF-16 units. */
const SEGMENT = 6_000;

/** A place where a text may be cut: before a word, or between letters that are written without spaces. */
const CUT = /\s(?=\S)|[\u3040-\u9fff\uac00-\ud7af](?=[\u3040-\u9fff\uac00-\ud7af])/g;

interface Segment {
  source: string;
  references: Inline["references"];
  pieces: readonly string[];
}

/**
 * Pieces in which a growing text without blocks is drawn. Each update parses and renders only the end of a long text: a segment
 * before it, in which nothing is left open, stays as it is.
 */
export class GrowingPieces {
  private segments: readonly Segment[] = [];

  constructor(private readonly length = SEGMENT) {}

  /** Return the HTML of the pieces of `text`, which is not safe yet: each is sanitised when it is drawn. */
  update(text: Inline): readonly string[] {
    // The numbers of footnotes may change everywhere.
    if (text.notes !== null) return renderPieces(text);
    const segments: Segment[] = [];
    let rest = text.source;
    while (rest.length > 2 * this.length) {
      const segment = this.next(rest, text.references, this.segments[segments.length]);
      if (segment === null) break;
      segments.push(segment);
      rest = rest.slice(segment.source.length);
    }
    this.segments = segments;
    return [...segments.flatMap(({ pieces }) => pieces), ...renderPieces({ ...text, source: rest })];
  }

  private next(rest: string, references: Inline["references"], known: Segment | undefined): Segment | null {
    if (known !== undefined && rest.startsWith(known.source) && (known.references ?? references) === references) return known;
    const end = cutBefore(rest, this.length);
    if (end === 0) return null;
    const source = rest.slice(0, end);
    const segment: Inline = { source, references: source.includes("[") ? references : null, notes: null };
    if (mayReachOver(segment)) return null;
    return { source, references: segment.references, pieces: renderPieces(segment) };
  }
}

/** Return the last place before `end` where a text may be cut; 0 without one. */
function cutBefore(text: string, end: number): number {
  const last = [...text.slice(0, end).matchAll(CUT)].at(-1);
  return last === undefined ? 0 : last.index + 1;
}
