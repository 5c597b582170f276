import type { Token, Tokens } from "marked";

import { lex } from "./render";

/** The line that opens code in a fence, and the two that open a table: once they are there, nothing changes what follows. */
const FENCE = /^(`{3,}|~{3,})[^\n]*\n/;
const TABLE = /^[^\n]+\n[^\n]+\n/;

/**
 * Code in a fence, or a table, at the end of a text that grows. Its lines can no longer change once they are complete, so
 * only the last of them are lexed, behind its head, and joined to what is kept of the earlier ones: what an update costs
 * is what came, however long the block is.
 */
export class OpenBlock {
  /** The text of the head and of the lines that are not lexed again. */
  private kept: string;
  /** Of a table, its first row, and the rows of those lines. */
  private readonly header: Tokens.TableCell[];
  private readonly rows: Tokens.TableCell[][] = [];

  private constructor(
    token: Token,
    private readonly head: string,
    /** What ends the block; null where its last line need not. */
    private readonly closing: RegExp | null,
  ) {
    this.kept = head;
    this.header = (token as Tokens.Table).header;
  }

  /** The block `token` as one that may grow; null for one of another kind, or of which the head is not complete. */
  static of(token: Token): OpenBlock | null {
    if (token.type === "table") {
      const head = TABLE.exec(token.raw)?.[0];
      return head === undefined ? null : new OpenBlock(token, head, null);
    }
    const fence = token.type === "code" ? FENCE.exec(token.raw) : null;
    return fence === null ? null : new OpenBlock(token, fence[0], new RegExp(`^ {0,3}${fence[1]!}[\`~]* *$`));
  }

  /** The tokens of `text`, which begins with the block; null where it does not. */
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

  /** Keeps the lines before the last complete one that is not blank: with it stands what may still belong to it. */
  private keep(grown: string, token: Token): void {
    const lines = grown.split("\n");
    if (this.closing !== null && lines.some((line) => this.closing!.test(line))) return;
    const last = lines.slice(0, -1).findLastIndex((line) => line.trim() !== "");
    if (last <= 0) return;
    this.kept += own(`${lines.slice(0, last).join("\n")}\n`);
    if (token.type === "table") this.rows.push(...(token as Tokens.Table).rows.slice(0, last));
  }
}

/** A copy: what is cut out of a text otherwise keeps all of that text in memory, for as long as a token has it. */
export function own(text: string): string {
  return ` ${text}`.slice(1);
}
