import type { TokenizerAndRendererExtension, Tokens } from "marked";

import { inParagraph } from "./paragraphs";

/**
 * TeX inside Markdown: `$…$`, `$$…$$`, `\(…\)` and `\[…\]`. A dollar sign that may be a price opens nothing: no space
 * follows the opening `$` or precedes the closing one, and no digit follows the closing one.
 */
const INLINE = /^(?:\$\$([^$]+?)\$\$|\\\[([\s\S]+?)\\\]|\\\([\s\S]+?\\\)|\$(?!\s|\$)(?:\\.|[^\\$\n])+?(?<!\s)\$(?!\d))/;
const BLOCK = /^ {0,3}(?:\$\$[\s\S]+?\$\$|\\\[[\s\S]+?\\\])[ \t]*(?:\n|$)/;

/** Placeholder of TeX in rendered HTML, with its source. Raw HTML is escaped, so nothing else matches. */
const SPAN = /<span class="math( display)?">([^<]*)<\/span>/g;
function token(type: string, raw: string, display: boolean): Tokens.Generic {
  return { type, raw, text: raw.trim(), display };
}

function span({ text, display }: Tokens.Generic): string {
  return `<span class="math${display ? " display" : ""}">${escape(text as string)}</span>`;
}

export const inlineMath: TokenizerAndRendererExtension = {
  name: "inlineMath",
  level: "inline",
  start: (source) => inParagraph(source, /\$|\\[([]/),
  tokenizer(source) {
    const match = INLINE.exec(source);
    if (match === null) return undefined;
    const [raw, dollars, bracket] = match;
    return token("inlineMath", raw, (dollars ?? bracket) !== undefined);
  },
  renderer: span,
};

export const blockMath: TokenizerAndRendererExtension = {
  name: "blockMath",
  level: "block",
  start: (source) => inParagraph(source, /(?<=\n) {0,3}(?:\$\$|\\\[)/),
  tokenizer(source) {
    const match = BLOCK.exec(source);
    return match === null ? undefined : token("blockMath", match[0], true);
  },
  renderer: (math) => `<p>${span(math)}</p>`,
};

/** Return whether rendered HTML contains TeX. */
export function hasMath(html: string): boolean {
  return html.includes('<span class="math');
}

/**
 * Typeset the TeX in sanitised HTML. The result keeps the source, for copies. set: returns null for invalid TeX, which then
 * stays as written.
 */
export function setMath(html: string, set: (tex: string, display: boolean) => string | null): string {
  return html.replace(SPAN, (whole, display: string | undefined, source: string) => {
    const tex = texOf(unescape(source));
    const typeset = tex === "" ? null : set(tex, Boolean(display));
    return typeset === null ? whole : `<span class="typeset" data-source="${source.replace(/"/g, "&quot;")}">${typeset}</span>`;
  });
}

/** Return the TeX between the delimiters of `source`. */
function texOf(source: string): string {
  const length = source.startsWith("$") && !source.startsWith("$$") ? 1 : 2;
  return source.slice(length, -length).trim();
}

const ENTITIES: Record<string, string> = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&nbsp;": "\u00a0", "&amp;": "&" };

function escape(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

function unescape(html: string): string {
  return html.replace(/&(?:lt|gt|quot|nbsp|amp);/g, (entity) => ENTITIES[entity]!);
}
