import type { Conversation } from "../api/types";
import { periodOf, type Period } from "../format/dates";

/** A heading of the list, and the place of the row that follows it. */
export interface Heading {
  at: number;
  period: Period;
}

/** A part of the list that is drawn: rows of one period, with the empty space above each in pixels. */
export interface DrawnPart {
  key: string;
  /** Null where the list has no headings. */
  heading: { period: Period; gap: number } | null;
  rows: { conversation: Conversation; at: number; gap: number }[];
}

/** Heights in pixels. */
export interface Heights {
  row: number;
  heading: number;
}

/** Return the headings of the rows that were read. Rows after a gap have one, too, since it is not known where their period begins. */
export function headingsOf(rows: readonly (Conversation | undefined)[], now: Date): Heading[] {
  const headings: Heading[] = [];
  let before: Period | undefined;
  rows.forEach((row, at) => {
    const period = row === undefined ? undefined : periodOf(row, now);
    if (period !== undefined && period !== before) headings.push({ at, period });
    before = period;
  });
  return headings;
}

/** Places of rows of equal height in a list with headings of equal height. */
export class ListLayout {
  constructor(
    private readonly rows: readonly (Conversation | undefined)[],
    private readonly headings: readonly Heading[],
    private readonly heights: Heights,
  ) {}

  /** Height of the whole list. */
  get height(): number {
    return this.rows.length * this.heights.row + this.headings.length * this.heights.heading;
  }

  /** Return the distance of a row from the top of the list. */
  topOf(at: number): number {
    let above = 0;
    while (above < this.headings.length && this.headings[above]!.at <= at) above++;
    return at * this.heights.row + above * this.heights.heading;
  }

  /** Return the place of the row at a distance from the top of the list, within the list. */
  placeAt(top: number): number {
    let [low, high] = [0, Math.max(0, this.rows.length - 1)];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.topOf(middle) <= top) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Return the parts that show some places, and the height of the empty space below them. `periods` is null without headings. */
  draw(places: readonly number[], periods: ((row: Conversation) => Period) | null): { parts: DrawnPart[]; below: number } {
    const parts: DrawnPart[] = [];
    let last: Period | null | undefined;
    let bottom = 0;
    for (const at of places) {
      const conversation = this.rows[at];
      if (conversation === undefined) continue;
      const period = periods?.(conversation) ?? null;
      if (parts.length === 0 || period !== last || this.headings.some((each) => each.at === at)) {
        const start = this.headings.findLast((each) => each.at <= at);
        const top = start === undefined ? 0 : this.topOf(start.at) - this.heights.heading;
        const heading = start === undefined ? null : { period: start.period, gap: Math.max(0, top - bottom) };
        if (start !== undefined) bottom = this.topOf(start.at);
        const again = parts.filter((part) => part.key.startsWith(String(period))).length;
        parts.push({ key: `${period}${again > 0 ? ` ${again}` : ""}`, heading, rows: [] });
        last = period;
      }
      const top = this.topOf(at);
      parts.at(-1)!.rows.push({ conversation, at, gap: Math.max(0, top - bottom) });
      bottom = top + this.heights.row;
    }
    return { parts, below: Math.max(0, this.height - bottom) };
  }
}
