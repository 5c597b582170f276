import MarkdownIt from "markdown-it";

import { FlankingState } from "./flanking";
import type { Parser, Token } from "./parser";

/**
 * A token of the package. The constructor of the package defines each field by a call, which takes most of the time in which
 * emphasis is parsed.
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

class QuickInlineState extends FlankingState {
  override Token = QuickToken;
}

class QuickBlockState extends MarkdownIt.StateBlock {
  override Token = QuickToken;
}

/** Let a parser read its texts with quick tokens and the flanking of this grammar. */
export function readQuickly(md: Parser): void {
  md.inline.State = QuickInlineState;
  md.block.State = QuickBlockState;
}
