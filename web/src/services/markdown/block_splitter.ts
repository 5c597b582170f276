import type { Token, Tokens } from "marked";

import type { DetailsToken } from "./html_tokens";
import { OpenBlock, own } from "./open_block";
import { lex, withFootnotes } from "./render";

/** Text that may still become the next item of the list before it. */
const MAYBE_LIST_ITEM = /^\s*(?:\d{1,9}[.)]?|[-*+])?\s*$/;

/**
 * Incremental parser of growing Markdown. Blocks before the last blank line can no longer change and keep their identity.
 * Each update lexes only the text after them. Unchanged parts of a growing list or foldable part keep their identity, too. In fenced code
 * and in a table, only the last lines are lexed.
 */
export class BlockSplitter {
  private finished: Token[] = [];
  private finishedText = "";
  /** Last block of the last update. */
  private last: Token | undefined;
  /** That block, if it alone follows the finished ones and grows line by line. */
  private open: OpenBlock | null = null;

  /** Return the blocks of `text`. If `text` extends the previous one, finished blocks are the same objects. */
  update(text: string): Token[] {
    const source = text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
    if (!source.startsWith(this.finishedText)) this.reset();
    const rest = source.slice(this.finishedText.length);
    const extended = this.open?.extend(rest) ?? null;
    const tail = extended ?? lex(own(rest));
    const last = tail.at(-1);
    if (last !== undefined && this.last !== undefined) keepParts(last, this.last);
    this.last = last;
    const cut = finishedCount(tail);
    for (const token of tail.slice(0, cut)) {
      this.finishedText += token.raw;
      if (token.type !== "space") this.finished.push(token);
    }
    if (cut > 0 || extended === null) this.open = tail.length === cut + 1 ? OpenBlock.of(last!) : null;
    return [...this.finished, ...tail.slice(cut).filter((token) => token.type !== "space")];
  }

  /** Return the blocks of the complete `text`. Finished blocks are the same objects as before. */
  finish(text: string): Token[] {
    const blocks = this.update(text);
    if (!blocks.some(({ type }) => type === "def" || type === "footnote")) return blocks;
    // A link or a footnote may be defined after the blocks that use it.
    return withFootnotes(lex(text.replace(/\r\n?/g, "\n")).filter(({ type }) => type !== "space"));
  }

  private reset(): void {
    this.finished = [];
    this.finishedText = "";
    this.last = undefined;
    this.open = null;
  }
}

/** Keep the items of a list, or the blocks of a foldable part, that read as before. */
function keepParts(token: Token, before: Token): void {
  if (token.type === "details" && before.type === "details") {
    const [part, old] = [token as DetailsToken, before as DetailsToken];
    part.tokens = part.tokens.map((child, index) => (old.tokens[index]?.raw === child.raw ? old.tokens[index] : child));
  }
  if (token.type !== "list" || before.type !== "list") return;
  const [list, old] = [token as Tokens.List, before as Tokens.List];
  list.items = list.items.map((item, index) => {
    const kept = old.items[index];
    return kept?.raw === item.raw && kept.loose === item.loose ? kept : item;
  });
}

/**
 * Count the leading tokens that can no longer change: those before an open fence or table, and those before the last
 * blank line that has text after it.
 */
function finishedCount(tokens: readonly Token[]): number {
  if (tokens.length > 0 && OpenBlock.of(tokens.at(-1)!) !== null) return tokens.length - 1;
  for (let index = tokens.length - 1; index > 0; index--) {
    if (tokens[index]!.type !== "space" || index === tokens.length - 1) continue;
    const rest = tokens.slice(index).reduce((text, token) => text + token.raw, "");
    if (tokens[index - 1]!.type === "list" && MAYBE_LIST_ITEM.test(rest)) continue;
    return index + 1;
  }
  return 0;
}
