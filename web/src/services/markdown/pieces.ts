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

/** Return a text of many pages as several, which end where a line may end. */
function parts(token: Token): Token[] {
  const most = PIECE * LETTERS_PER_COST;
  if (token.type !== "text" || token.content.length <= most) return [token];
  const texts: string[] = [];
  for (let rest = token.content; rest !== ""; ) {
    let end = Math.min(most, rest.length);
    while (end < rest.length && !BREAK.test(rest[end - 1]!)) end++;
    texts.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return texts.map((content) => Object.assign(new MarkdownIt.Token("text", "", 0), { content }));
}

function closing({ type, tag }: Token): Token {
  return new MarkdownIt.Token(type.replace("_open", "_close"), tag, -1);
}
