import type { Token, TokenizerAndRendererExtension, Tokens } from "marked";

import { inParagraph } from "./paragraphs";

/**
 * The few HTML elements that answers may use: `br sub sup kbd mark` within text, `details` and `summary` as blocks. They
 * have no attributes, apart from `open`. Any other HTML is shown as text.
 */
const PAIRED = /^<(sub|sup|kbd|mark)>/i;
const BREAK = /^<br ?\/?>/i;
/** A line that begins with such an element begins a paragraph, not a block of HTML. */
const BEGINS_TEXT = /^ {0,3}<(?:br ?\/?|sub|sup|kbd|mark)>/i;
const DETAILS = /^ {0,3}<details( open(?:="(?:open)?")?)? ?>/i;
const SUMMARY = /^\s*<summary>([\s\S]*?)<\/summary>/i;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

export interface DetailsToken extends Tokens.Generic {
  type: "details";
  open: boolean;
  /** Inline content of the summary; empty without one. */
  summary: Token[];
  /** Blocks after the summary. */
  tokens: Token[];
}

/** Leave a line that begins with an inline element to the tokenizer of paragraphs. */
export function html(source: string): undefined | false {
  return BEGINS_TEXT.test(source) ? undefined : false;
}

export const inlineHtml: TokenizerAndRendererExtension = {
  name: "inlineHtml",
  level: "inline",
  tokenizer(source) {
    const line = BREAK.exec(source);
    if (line !== null) return { type: "inlineHtml", raw: line[0], element: "br", tokens: [] };
    const element = PAIRED.exec(source)?.[1]?.toLowerCase();
    const inner = element === undefined ? null : contents(source, element);
    if (inner === null) return undefined;
    const { text, raw } = inner;
    return { type: "inlineHtml", raw, element, tokens: this.lexer.inlineTokens(text, []) };
  },
  renderer({ element, tokens }) {
    return element === "br" ? "<br>" : `<${element}>${this.parser.parseInline(tokens ?? [])}</${element}>`;
  },
  childTokens: ["tokens"],
};

/** Foldable blocks. Without an end, which may still be written, they last to the end of the text. */
export const details: TokenizerAndRendererExtension = {
  name: "details",
  level: "block",
  start: (source) => inParagraph(source, /(?<=\n) {0,3}<details(?: open[^>]*)? ?>/i),
  tokenizer(source) {
    const begin = DETAILS.exec(source);
    if (begin === null) return undefined;
    const { text, raw } = blocks(source, begin[0].length);
    const head = SUMMARY.exec(text);
    const { lexer } = this;
    const { top } = lexer.state;
    lexer.state.top = true;
    const tokens = lexer.blockTokens(text.slice(head?.[0].length ?? 0), []);
    lexer.state.top = top;
    const summary = lexer.inline(head?.[1]?.trim() ?? "");
    return { type: "details", raw, open: begin[1] !== undefined, summary, tokens } satisfies DetailsToken;
  },
  childTokens: ["summary", "tokens"],
};

/** Return the text between the tags of the element that begins `source`; null if the end tag is missing. */
function contents(source: string, element: string): { text: string; raw: string } | null {
  const begin = element.length + 2;
  let depth = 0;
  for (const { 0: tag, index } of source.matchAll(new RegExp(`</?${element}>`, "gi"))) {
    depth += tag[1] === "/" ? -1 : 1;
    if (depth === 0) return { text: source.slice(begin, index), raw: source.slice(0, index + tag.length) };
  }
  return null;
}

/** Return the text inside the `details` whose start tag is `begin` long. Tags in fenced code do not count. */
function blocks(source: string, begin: number): { text: string; raw: string } {
  let depth = 0;
  let fence: string | null = null;
  let at = 0;
  for (const line of source.split("\n")) {
    const mark = FENCE.exec(line)?.[1];
    if (fence !== null) {
      if (mark?.startsWith(fence) && line.trim() === mark) fence = null;
    } else if (mark !== undefined) {
      fence = mark;
    } else {
      for (const { 0: tag, index } of line.matchAll(/<details(?: open[^>]*)? ?>|<\/details>/gi)) {
        depth += tag[1] === "/" ? -1 : 1;
        if (depth > 0) continue;
        const rest = /^[ \t]*(?:\n|$)/.exec(source.slice(at + index + tag.length))?.[0] ?? "";
        return { text: source.slice(begin, at + index), raw: source.slice(0, at + index + tag.length + rest.length) };
      }
    }
    at += line.length + 1;
  }
  return { text: source.slice(begin), raw: source };
}
