import type { Inline } from "./blocks";
import { labelsOf, readSame, usedBy } from "./labels";
import { LETTERS_PER_COST, PIECE } from "./pieces";
import { closedTokens, renderPieces, withNotes } from "./render";

/** Cost of a segment of a long text. A text of twice that cost is drawn as one piece, and again with each change of it. */
const SEGMENT = PIECE / 3;

/** What a letter that may begin or end something adds to the cost of a text, about as in `piecesOf`. */
const MARK_COSTS = new Map([...[..."*_~`[<\\\n"].map((mark) => [mark, 1] as const), ["^", 5], ["$", 13]]);

/** A place where a text may be cut: before a word, or between letters that are written without spaces. */
const CUT = /\s(?=\S)|[\u3040-\u9fff\uac00-\ud7af](?=[\u3040-\u9fff\uac00-\ud7af])/g;

/** Places where a segment may end, the last of which is tried first. */
const PLACES = 4;

type Notes = Inline["notes"];

interface Segment {
  text: Inline;
  labels: readonly string[];
  /** Number of the references to footnotes. */
  noted: number;
  pieces: readonly string[];
}

/**
 * Pieces in which a growing text without blocks is drawn. Each update parses and renders only the end of a long text: a segment
 * before it, in which nothing is left open and no number of a footnote changes, stays as it is.
 */
export class GrowingPieces {
  private segments: readonly Segment[] = [];

  constructor(private readonly cost = SEGMENT) {}

  /** Return the HTML of the pieces of `text`, which is not safe yet: each is sanitised when it is drawn. */
  update(text: Inline): readonly string[] {
    const segments: Segment[] = [];
    let rest = text;
    while (endWithin(rest.source, 2 * this.cost) < rest.source.length) {
      const segment = this.next(rest, this.segments[segments.length]);
      if (segment === null) break;
      segments.push(segment);
      rest = { ...rest, source: rest.source.slice(segment.text.source.length), notes: rest.notes?.slice(segment.noted) ?? null };
    }
    this.segments = segments;
    return [...segments.flatMap(({ pieces }) => pieces), ...renderPieces(rest)];
  }

  /** Return the first segment of a text; null if it must not be cut. known: the segment that was there before. */
  private next({ source, references, notes }: Inline, known: Segment | undefined): Segment | null {
    const isThere = known !== undefined && source.startsWith(known.text.source) && readSame(known.labels, known.text.references, references);
    const segment = isThere ? known : this.cut(source, references);
    return segment && numbered(segment, notes?.slice(0, segment.noted) ?? null);
  }

  /** Cut a segment, in which nothing is left open, from the beginning of a text; null if there is none. */
  private cut(source: string, references: Inline["references"]): Segment | null {
    const places = [...source.slice(0, endWithin(source, this.cost)).matchAll(CUT)].slice(-PLACES);
    for (const { index } of places.reverse()) {
      const start = source.slice(0, index + 1);
      const text: Inline = { source: start, references: usedBy(start, references), notes: null };
      const tokens = closedTokens(text);
      if (tokens === null) continue;
      const noted = tokens.filter(({ type }) => type === "footnote_reference").length;
      return { text, labels: labelsOf(start), noted, pieces: renderPieces(text) };
    }
    return null;
  }
}

/** Return a segment with the numbers of its footnotes. */
function numbered(segment: Segment, notes: Notes): Segment {
  if (segment.noted === 0 || isSame(segment.text.notes, notes)) return segment;
  const text = withNotes(segment.text, notes);
  return { ...segment, text, pieces: renderPieces(text) };
}

function isSame(before: Notes, notes: Notes): boolean {
  if (before === null || notes === null) return before === notes;
  return before.every((note, at) => note?.number === notes[at]?.number && note?.occurrence === notes[at]?.occurrence);
}

/** Return the place up to which a text costs no more than `most`. */
function endWithin(text: string, most: number): number {
  let cost = 0;
  for (let at = 0; at < text.length; at++) {
    cost += 1 / LETTERS_PER_COST + (MARK_COSTS.get(text[at]!) ?? 0);
    if (cost > most) return at;
  }
  return text.length;
}
