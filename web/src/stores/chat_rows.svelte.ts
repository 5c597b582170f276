import type { Conversation } from "../services/api/types";

/** Most rows that are kept. */
const MAX_ROWS = 1_000;

type Row = Conversation | undefined;

/**
 * Rows of a list of chats that the server orders: pinned ones first, then the newest. Each has its place in the whole list; the
 * rows that were not read are undefined.
 */
export class ChatRows {
  all = $state.raw<readonly Row[]>([]);

  /** The rows that were read, in their order. */
  readonly known = $derived(this.all.filter((row) => row !== undefined));

  get complete(): boolean {
    return this.known.length === this.all.length;
  }

  find(id: string | null): Conversation | undefined {
    return this.known.find((row) => row.id === id);
  }

  /** Return whether a row of some places was not read. */
  lacks(from: number, to: number): boolean {
    return this.all.slice(from, to).includes(undefined);
  }

  /** Replace all rows by those of one page. */
  set(page: readonly Conversation[], offset: number, total: number): void {
    const rows = new Array<Row>(Math.max(total, 0)).fill(undefined);
    rows.splice(offset, page.length, ...page);
    this.all = rows;
  }

  /**
   * Add a page, and forget the rows farthest from it beyond the maximum. Return whether the page fits: a list that has changed
   * since the other rows were read is to be read again.
   */
  add(page: readonly Conversation[], offset: number, total: number): boolean {
    const ids = new Set(page.map(({ id }) => id));
    const moved = this.all.some((row, at) => row !== undefined && ids.has(row.id) && page[at - offset]?.id !== row.id);
    if (moved || total !== this.all.length) return false;
    const rows = [...this.all];
    rows.splice(offset, page.length, ...page);
    const middle = offset + page.length / 2;
    const tooFar = rows.filter((row) => row !== undefined).length > MAX_ROWS;
    this.all = tooFar ? rows.map((row, at) => (Math.abs(at - middle) > MAX_ROWS / 2 ? undefined : row)) : rows;
    return true;
  }

  /**
   * Put a chat at its place, or only take it out if it is not listed any more. Return whether all places are right then: of a
   * chat that was not read the place is unknown, and so may be the new one.
   */
  put(conversation: Conversation, listed: boolean): boolean {
    const rows = [...this.all];
    const at = rows.findIndex((row) => row?.id === conversation.id);
    const gaps = !this.complete;
    if (at >= 0) rows.splice(at, 1);
    let to = listed ? rows.findIndex((row) => row !== undefined && byRank(conversation, row) < 0) : 0;
    if (to < 0) to = rows.length;
    const isKnown = to === 0 || rows[to - 1] !== undefined;
    // A chat whose place was not read leaves a gap there.
    if (listed && (isKnown || at >= 0)) rows.splice(to, 0, isKnown ? conversation : undefined);
    this.all = rows;
    return !gaps || (at >= 0 && isKnown);
  }

  /** Take out a chat. Return whether it was there, or cannot be elsewhere. */
  drop(id: string): boolean {
    const at = this.all.findIndex((row) => row?.id === id);
    const complete = this.complete;
    if (at >= 0) this.all = this.all.filter((_, place) => place !== at);
    return at >= 0 || complete;
  }
}

/** Compare conversations as the server orders them. Times are equal where a file had no times. */
function byRank(a: Conversation, b: Conversation): number {
  return Number(b.pinned) - Number(a.pinned) || b.updated_at - a.updated_at || (a.id < b.id ? 1 : -1);
}
