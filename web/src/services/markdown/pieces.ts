import MarkdownIt from "markdown-it";

import type { Token } from "./parser";

/**
 * Cost of one piece of a text without blocks. The browser lays out a paragraph as a whole, with each change of it, so a text of
 * many pages in one paragraph is drawn as several, one below the other. Paragraphs that a person writes are one piece.
 */
export const PIECE = 1_500;
export const LETTERS_PER_COST = 8;
/** What drawing a token costs beyond its letters. */
const COSTS: Readonly<Record<string, number>> = { formula: 30, footnote_reference: 10 };

/** A character before or after which the next line may begin: a space, or a letter that is written without spaces. */
const BREAK = /[\s\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]/;

/** A unit of UTF-16 that belongs to the character before it. */
const WITHIN = /[\p{M}\u200d\udc00-\udfff]/u;

/** Cut the tokens of a text into pieces. What is open where a piece ends, such as emphasis, is closed there and opened again. */
export function piecesOf(tokens: readonly Token[]): Token[][] {
  const pieces: Token[][] = [[]];
  const open: Token[] = [];
  let cost = 0;
  for (const token of tokens.flatMap(parts)) {
    if (cost > PIECE && (mayBreak(pieces.at(-1)!.at(-1)!, token) || cost > 2 * PIECE) && token.nesting >= 0) {
      pieces.at(-1)!.push(...open.toReversed().map(closing));
      pieces.push([...open]);
      cost = 0;
    }
    pieces.at(-1)!.push(token);
    cost += costOf(token);
    if (token.nesting > 0) open.push(token);
    if (token.nesting < 0) open.pop();
  }
  return pieces;
}

function costOf({ type, content }: Token): number {
  return 1 + content.length / LETTERS_PER_COST + (COSTS[type] ?? 0);
}

function mayBreak(before: Token, after: Token): boolean {
  return before.type.endsWith("break") || BREAK.test(before.content.at(-1) ?? "") || BREAK.test(after.content[0] ?? "");
}

/** Return a text of many pages, or code, as several, which end where a line may end. A word of pages is cut, too. */
function parts(token: Token): Token[] {
  const { type, tag, content } = token;
  const most = PIECE * LETTERS_PER_COST;
  if ((type !== "text" && type !== "code_inline") || content.length <= most) return [token];
  const tokens: Token[] = [];
  for (let from = 0; from < content.length; ) {
    let end = Math.min(from + most, content.length);
    const last = Math.min(end + most, content.length);
    while (end < last && !BREAK.test(content[end - 1]!)) end++;
    while (end < content.length && WITHIN.test(content[end]!)) end++;
    tokens.push(Object.assign(new MarkdownIt.Token(type, tag, 0), { content: content.slice(from, end) }));
    from = end;
  }
  return tokens;
}

function closing({ type, tag }: Token): Token {
  return new MarkdownIt.Token(type.replace("_open", "_close"), tag, -1);
}
