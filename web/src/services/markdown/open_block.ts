import type { Token, Tokens } from "marked";

import { lex } from "./render";

/** The first line of fenced code, and the first two of a table. Complete, they fix the kind of the following lines. */
const FENCE = /^(`{3,}|~{3,})[^\n]*\n/;
const TABLE = /^[^\n]+\n[^\n]+\n/;

/**
 * Fenced code, or a table, at the end of a growing text. Complete lines can no longer change, so only the last lines are
 * lexed, after the head of the block, and joined to the kept result of the earlier ones. An update costs as much as its
 * new text, however long the block is.
 */
export class OpenBlock {
  /** Text of the head and of the lines that are not lexed again. */
  private kept: string;
  /** First row of a table, and the rows of those lines. */
  private readonly header: Tokens.TableCell[];
  private readonly rows: Tokens.TableCell[][] = [];

  private constructor(
    token: Token,
    private readonly head: string,
    /** Pattern of the line that ends the block; null for a table. */
    private readonly closing: RegExp | null,
  ) {
    this.kept = head;
    this.header = (token as Tokens.Table).header;
  }

  /** Return the open block of `token`; null for another kind of block, or an incomplete head. */
  static of(token: Token): OpenBlock | null {
    if (token.type === "table") {
      const head = TABLE.exec(token.raw)?.[0];
      return head === undefined ? null : new OpenBlock(token, head, null);
    }
    const fence = token.type === "code" ? FENCE.exec(token.raw) : null;
    return fence === null ? null : new OpenBlock(token, fence[0], new RegExp(`^ {0,3}${fence[1]!}[\`~]* *$`));
  }

  /** Return the tokens of `text`, which begins with the block; null if `text` does not. */
  extend(text: string): Token[] | null {
    if (!text.startsWith(this.kept)) return null;
    const grown = text.slice(this.kept.length);
    const [first, ...after] = lex(own(this.head + grown));
    const block = this.join(first!);
    if (after.length === 0) this.keep(grown, first!);
    return [block, ...after];
  }

  private join(token: Token): Token {
    const raw = this.kept + token.raw.slice(this.head.length);
    if (token.type === "table") {
      return { ...token, raw, header: this.header, rows: [...this.rows, ...(token as Tokens.Table).rows] };
    }
    return { ...token, raw, text: this.kept.slice(this.head.length) + (token as Tokens.Code).text };
  }

  /** Keep the lines before the last complete one that is not blank. Later text may still belong to that one. */
  private keep(grown: string, token: Token): void {
    const lines = grown.split("\n");
    if (this.closing !== null && lines.some((line) => this.closing!.test(line))) return;
    const last = lines.slice(0, -1).findLastIndex((line) => line.trim() !== "");
    if (last <= 0) return;
    this.kept += own(`${lines.slice(0, last).join("\n")}\n`);
    if (token.type === "table") this.rows.push(...(token as Tokens.Table).rows.slice(0, last));
  }
}

/** Copy a text. A slice would keep the whole text in memory for as long as a token refers to it. */
export function own(text: string): string {
  return ` ${text}`.slice(1);
}
