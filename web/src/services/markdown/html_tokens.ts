import type { Token, TokenizerAndRendererExtension, Tokens } from "marked";

import { inParagraph } from "./paragraphs";
import { link } from "./links";
import { imageOf, INLINE_ELEMENTS } from "./raw_html";

/**
 * HTML elements within text, and `details`, whose contents are Markdown. Any other block of HTML has only HTML inside
 * (`raw_html.ts`). Elements that answers cannot use are shown as text.
 */
const PAIRED = new RegExp(`^<(${INLINE_ELEMENTS.join("|")}|a)(\\s[^<>]*)?>`, "i");
const BREAK = /^<(br|wbr) ?\/?>/i;
const IMAGE = /^<img(\s[^<>]*)>/i;
/** A line that begins with such an element begins a paragraph, not a block of HTML. */
const BEGINS_TEXT = new RegExp(`^ {0,3}</?(?:br|wbr|img|a|${INLINE_ELEMENTS.join("|")})(?:\\s[^<>]*)?/?>`, "i");
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
    if (line !== null) return { type: "inlineHtml", raw: line[0], element: line[1]!.toLowerCase(), tokens: [] };
    const picture = IMAGE.exec(source);
    if (picture !== null) {
      const [address, text] = [attribute(picture[1]!, "src"), attribute(picture[1]!, "alt")];
      return { type: "inlineHtml", raw: picture[0], element: "img", address, text, tokens: [] };
    }
    const [begin, name, attributes = ""] = PAIRED.exec(source) ?? [];
    const element = name?.toLowerCase();
    const inner = element === undefined ? null : contents(source, element, begin!.length);
    if (inner === null) return undefined;
    const { text, raw } = inner;
    return { type: "inlineHtml", raw, element, address: attribute(attributes, "href"), tokens: this.lexer.inlineTokens(text, []) };
  },
  renderer({ element, tokens, address, text }) {
    if (element === "br" || element === "wbr") return `<${element}>`;
    if (element === "img") return imageOf(address as string, text as string);
    const inner = this.parser.parseInline(tokens ?? []);
    return element === "a" ? link(address as string, null, inner) : `<${element}>${inner}</${element}>`;
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

/** Return the value of an attribute; "" without one. */
function attribute(attributes: string, name: string): string {
  const match = new RegExp(`(?:^|\\s)${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"']+))`, "i").exec(attributes);
  return (match?.[1] ?? match?.[2] ?? match?.[3] ?? "").replaceAll("&quot;", '"').replaceAll("&amp;", "&");
}

/** Return the text between the tags of the element that begins `source`; null if the end tag is missing. */
function contents(source: string, element: string, begin: number): { text: string; raw: string } | null {
  let depth = 0;
  for (const { 0: tag, index } of source.matchAll(new RegExp(`</?${element}(?:\\s[^<>]*)?>`, "gi"))) {
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
