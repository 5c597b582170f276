import type { Token, Tokens } from "marked";

import { lex } from "./markdown";

/** A text that may still continue as the next item of the list before it. */
const MAYBE_LIST_ITEM = /^\s*(?:\d{1,9}[.)]?|[-*+])?\s*$/;

/** What a line that gives a link its address begins with. */
const DEFINITION = /^ {0,3}\[[^\]\n]+\]:/m;

/**
 * Cuts a growing Markdown text into blocks so that only its end is parsed again: blocks before the last blank line
 * can no longer change and keep their identity, the tail is lexed anew at each update. Of a list that grows there, items
 * that read as before are the same objects, too.
 */
export class BlockSplitter {
  private finished: Token[] = [];
  private finishedText = "";
  /** The last block of the last call. */
  private last: Token | undefined;

  /** The blocks of `text`; when it extends the text of the last call, finished blocks are the same objects. */
  update(text: string): Token[] {
    const source = text.replace(/\r\n?/g, "\n");
    if (!source.startsWith(this.finishedText)) this.reset();
    const tail = lex(source.slice(this.finishedText.length));
    const last = tail.at(-1);
    if (last !== undefined && this.last !== undefined) keepItems(last, this.last);
    this.last = last;
    const cut = finishedCount(tail);
    for (const token of tail.slice(0, cut)) {
      this.finishedText += token.raw;
      if (token.type !== "space") this.finished.push(token);
    }
    return [...this.finished, ...tail.slice(cut).filter((token) => token.type !== "space")];
  }

  /** The blocks of `text`, which grows no more; those that were finished are the same objects here as well. */
  finish(text: string): Token[] {
    if (!DEFINITION.test(text)) return this.update(text);
    // A link may be defined after the blocks that use it.
    return lex(text.replace(/\r\n?/g, "\n")).filter(({ type }) => type !== "space");
  }

  private reset(): void {
    this.finished = [];
    this.finishedText = "";
    this.last = undefined;
  }
}

function keepItems(token: Token, before: Token): void {
  if (token.type !== "list" || before.type !== "list") return;
  const [list, old] = [token as Tokens.List, before as Tokens.List];
  list.items = list.items.map((item, index) => {
    const kept = old.items[index];
    return kept?.raw === item.raw && kept.loose === item.loose ? kept : item;
  });
}

/** How many leading tokens can no longer change: those before the last blank line that has text after it. */
function finishedCount(tokens: readonly Token[]): number {
  for (let index = tokens.length - 1; index > 0; index--) {
    if (tokens[index]!.type !== "space" || index === tokens.length - 1) continue;
    const rest = tokens.slice(index).reduce((text, token) => text + token.raw, "");
    if (tokens[index - 1]!.type === "list" && MAYBE_LIST_ITEM.test(rest)) continue;
    return index + 1;
  }
  return 0;
}
