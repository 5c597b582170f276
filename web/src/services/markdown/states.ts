import MarkdownIt from "markdown-it";

import { FlankingState } from "./flanking";
import type { Parser, Token } from "./parser";

/**
 * A token of the package. The constructor of the package defines each field by a call, which takes most of the time in which
 * a text is parsed.
 */
const QuickToken = function (this: Token, type: string, tag: string, nesting: Token["nesting"]) {
  this.type = type;
  this.tag = tag;
  this.attrs = null;
  this.map = null;
  this.nesting = nesting;
  this.level = 0;
  this.children = null;
  this.content = "";
  this.markup = "";
  this.info = "";
  this.meta = null;
  this.block = false;
  this.hidden = false;
} as unknown as typeof MarkdownIt.Token;
Object.defineProperty(QuickToken, "prototype", { value: MarkdownIt.Token.prototype });

/** Both states make their tokens as those of the package do, which know the constructor of the package alone. */
class QuickInlineState extends FlankingState {
  override pushPending(): Token {
    const token = new QuickToken("text", "", 0);
    token.content = this.pending;
    token.level = this.pendingLevel;
    this.tokens.push(token);
    this.pending = "";
    return token;
  }

  override push(type: string, tag: string, nesting: Token["nesting"]): Token {
    if (this.pending !== "") this.pushPending();
    const token = new QuickToken(type, tag, nesting);
    if (nesting < 0) {
      this.level--;
      this.delimiters = this._prev_delimiters.pop()!;
    }
    token.level = this.level;
    if (nesting > 0) {
      this.level++;
      this._prev_delimiters.push(this.delimiters);
      this.delimiters = [];
    }
    this.pendingLevel = this.level;
    this.tokens.push(token);
    this.tokens_meta.push(nesting > 0 ? { delimiters: this.delimiters } : undefined);
    return token;
  }
}

class QuickBlockState extends MarkdownIt.StateBlock {
  override push(type: string, tag: string, nesting: Token["nesting"]): Token {
    const token = new QuickToken(type, tag, nesting);
    token.block = true;
    if (nesting < 0) this.level--;
    token.level = this.level;
    if (nesting > 0) this.level++;
    this.tokens.push(token);
    return token;
  }
}

/** Let a parser read its texts with quick tokens and the flanking of this grammar. */
export function readQuickly(md: Parser): void {
  md.inline.State = QuickInlineState;
  md.block.State = QuickBlockState;
}
