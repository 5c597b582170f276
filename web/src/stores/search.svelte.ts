import type { ApiClient } from "../services/api/client";
import { describeError, type Problem } from "../services/api/errors";
import type { SearchResponse } from "../services/api/types";

const PAUSE_MS = 120;

/** Searching titles and messages while one types. */
export class Search {
  /** What stands in the field. */
  query = $state("");
  /** What was found; null while nothing was looked for. The last answer stays until the next one is here. */
  found = $state<SearchResponse | null>(null);
  problem = $state<Problem | null>(null);

  private asking = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly api: ApiClient) {}

  type(query: string): void {
    this.query = query;
    this.asking.abort();
    clearTimeout(this.timer);
    if (query.trim() === "") {
      this.found = null;
      this.problem = null;
      return;
    }
    this.asking = new AbortController();
    const { signal } = this.asking;
    this.timer = setTimeout(() => void this.ask(query, signal), PAUSE_MS);
  }

  private async ask(query: string, signal: AbortSignal): Promise<void> {
    try {
      const found = await this.api.search(query, signal);
      if (signal.aborted) return;
      this.found = found;
      this.problem = null;
    } catch (error) {
      if (!signal.aborted) this.problem = describeError(error);
    }
  }
}

/** `text` in pieces, those that were found marked. */
export function marked(text: string, matches: readonly [number, number][]): { text: string; hit: boolean }[] {
  const pieces: { text: string; hit: boolean }[] = [];
  let at = 0;
  for (const [start, end] of matches) {
    if (start > at) pieces.push({ text: text.slice(at, start), hit: false });
    pieces.push({ text: text.slice(start, end), hit: true });
    at = end;
  }
  if (at < text.length) pieces.push({ text: text.slice(at), hit: false });
  return pieces;
}
