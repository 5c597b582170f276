const PAUSE_MS = 200;

/** A page as the server sends it. */
export interface Page<T> {
  data: T[];
  next_cursor: string | null;
  /** Number of rows of the whole list, if the server says it with this page. */
  total?: number;
}

/** Rows of a list of the server that is read page by page, and that the person may search. */
export class PagedList<T> {
  rows = $state.raw<readonly T[]>([]);
  /** Number of rows of the whole list, if the server has said it. */
  total = $state<number | null>(null);
  /** Contents of the search field. */
  query = $state("");
  /** Whether a page has arrived. */
  loaded = $state(false);
  /** Error of the last request; null after one that succeeded. */
  failure = $state.raw<unknown>(null);

  private following = $state.raw<string | null>(null);
  /** The cursor of the page after the last row, while that is read. */
  private reading: string | null = null;
  private request = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly read: (query: string, cursor: string | null, signal: AbortSignal) => Promise<Page<T>>) {}

  /** Whether the server has more rows. */
  get hasMore(): boolean {
    return this.following !== null;
  }

  /** Search once the person pauses. */
  type(query: string): void {
    this.query = query;
    this.request.abort();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.load(), PAUSE_MS);
  }

  /** Read the first page. */
  load(): Promise<void> {
    return this.append([], null);
  }

  /** Read the page after the last row, unless there is none or that is under way. */
  async more(): Promise<void> {
    if (this.following === null || this.reading === this.following) return;
    await this.append(this.rows, this.following);
  }

  /** Take out rows that are gone from the list. */
  drop(isGone: (row: T) => boolean): void {
    const kept = this.rows.filter((row) => !isGone(row));
    if (this.total !== null) this.total -= this.rows.length - kept.length;
    this.rows = kept;
  }

  /** Show a row that was just created, above the others. */
  prepend(row: T): void {
    this.rows = [row, ...this.rows];
  }

  /** Show another state of a row. */
  replace(row: T, changed: T): void {
    this.rows = this.rows.map((each) => (each === row ? changed : each));
  }

  private async append(before: readonly T[], cursor: string | null): Promise<void> {
    this.request.abort();
    this.request = new AbortController();
    const { signal } = this.request;
    this.reading = cursor;
    try {
      const page = await this.read(this.query.trim(), cursor, signal);
      if (signal.aborted) return;
      this.rows = [...before, ...page.data];
      this.following = page.next_cursor;
      this.total = page.total ?? this.total;
      this.loaded = true;
      this.failure = null;
    } catch (error) {
      if (!signal.aborted) this.failure = error;
    }
    if (!signal.aborted) this.reading = null;
  }
}
