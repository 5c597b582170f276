import type { SearchResponse } from "../services/api/types";

type Snippet = SearchResponse["messages"][number]["snippet"];

/** A message that a search has found. */
interface Found {
  conversationId: string;
  messageId: string;
  /** The words of its snippet that were found, in their order. */
  words: readonly string[];
}

/** The message that was opened from the results of a search. Its words are marked while its chat is open. */
export class Hit {
  current = $state.raw<Found | null>(null);

  open(conversationId: string, messageId: string, { text, matches }: Snippet): void {
    this.current = { conversationId, messageId, words: matches.map(([start, end]) => text.slice(start, end)) };
  }
}
