import type { ApiClient } from "../services/api/client";
import { describeError, type Problem } from "../services/api/errors";
import type { SearchResponse } from "../services/api/types";
import { NO_FILTERS, searchParameters, type SearchFilters } from "../services/search_filters";

const PAUSE_MS = 120;

/** Search in titles and messages while the person types. */
export class Search {
  /** Contents of the search field. */
  query = $state("");
  /** Choices that narrow the search, until they are changed. */
  filters = $state.raw<Readonly<SearchFilters>>(NO_FILTERS);
  /** Latest results; null without a query. The previous results stay until the next ones arrive. */
  found = $state<SearchResponse | null>(null);
  problem = $state<Problem | null>(null);

  private request = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly api: ApiClient) {}

  type(query: string): void {
    this.query = query;
    this.request.abort();
    clearTimeout(this.timer);
    if (query.trim() === "") {
      this.found = null;
      this.problem = null;
      return;
    }
    this.request = new AbortController();
    const { signal } = this.request;
    this.timer = setTimeout(() => void this.send(query, signal), PAUSE_MS);
  }

  /** Change some of the filters, and search again. */
  filter(changes: Partial<SearchFilters>): void {
    this.filters = { ...this.filters, ...changes };
    this.type(this.query);
  }

  private async send(query: string, signal: AbortSignal): Promise<void> {
    try {
      const found = await this.api.search(query, searchParameters(this.filters, new Date()), signal);
      if (signal.aborted) return;
      this.found = found;
      this.problem = null;
    } catch (error) {
      if (!signal.aborted) this.problem = describeError(error);
    }
  }
}

/** Split `text` into pieces, and mark those that match. */
export function markMatches(text: string, matches: readonly [number, number][]): { text: string; hit: boolean }[] {
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
