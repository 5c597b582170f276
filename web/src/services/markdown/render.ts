import DOMPurify from "dompurify";
import { Marked, type Token, type Tokens } from "marked";

import { markdownTexts } from "../../i18n/markdown";
import { escapeHtml } from "./escape";
import { collectFootnotes, footnoteDefinition, footnoteReference, isFootnote } from "./footnotes";
import { details, html, inlineHtml } from "./html_tokens";
import { image, link, LINKED, SHOWN_IMAGE } from "./links";
import { blockMath, inlineMath } from "./math_tokens";
import { BLOCK_ELEMENTS, INLINE_ELEMENTS, safeBlock } from "./raw_html";

/**
 * Renderer of Markdown as safe HTML. A model's output is untrusted: raw HTML is shown as text save for
 * harmless elements, images from elsewhere become links (no request leaves this server's origin), and the result passes
 * DOMPurify with a list of elements.
 */
const marked = new Marked({
  gfm: true,
  extensions: [inlineMath, blockMath, inlineHtml, details, footnoteReference, footnoteDefinition],
  tokenizer: { html },
  renderer: {
    html: ({ text, block }) => (block ? safeBlock(text) : null) ?? escapeHtml(text),
    link({ href, title, tokens }) {
      return link(href, title, this.parser.parseInline(tokens));
    },
    image: ({ href, title, text }) => image(href, text) ?? link(href, title, escapeHtml(text || href)),
    checkbox: ({ checked }) =>
      `<input type="checkbox" disabled aria-label="${checked ? markdownTexts().done : markdownTexts().todo}"${checked ? " checked" : ""}> `,
  },
});

const HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6"];
const PURIFY = {
  ALLOWED_TAGS: [...INLINE_ELEMENTS, ...BLOCK_ELEMENTS, ...HEADINGS, "a", "br", "img", "input", "wbr", "#text"],
  ALLOWED_ATTR: [
    ...["href", "src", "alt", "title", "align", "class", "type", "checked", "disabled"],
    ...["colspan", "dir", "open", "rowspan", "start"],
  ],
  // DOMPurify checks every other attribute against the pattern for addresses.
  ADD_URI_SAFE_ATTR: ["align", "alt", "colspan", "dir", "open", "rowspan", "start", "type"],
  ALLOWED_URI_REGEXP: LINKED,
};

/** Return the block tokens of `text`, whose newlines are `\n`. */
export function lex(text: string): Token[] {
  return marked.lexer(text);
}

/** Return the blocks of the complete text whose blocks are `blocks`, with its footnotes at the end. */
export function withFootnotes(blocks: Token[]): Token[] {
  return blocks.some(isFootnote) ? collectFootnotes(blocks, (tokens, visit) => marked.walkTokens(tokens, visit)) : blocks;
}

/** Level of an answer's highest heading, below the page's title and the speaker's name. */
export const TOP_LEVEL = 3;

/**
 * Return the level of each heading in the outline of the page, undefined for other blocks. No heading skips a level.
 * above: the level of the last heading before the blocks.
 */
export function outline(blocks: readonly Token[], above = TOP_LEVEL - 1): (number | undefined)[] {
  return blocks.map((token) => {
    if (token.type !== "heading") return undefined;
    above = Math.min((token as Tokens.Heading).depth + TOP_LEVEL - 1, above + 1, 6);
    return above;
  });
}

/** Render a block that contains no other block (paragraph, heading, table, rule). */
export function renderBlock(token: Token): string {
  return sanitise(marked.parser([token]));
}

/** Render the contents of a table's `thead`. */
export function renderHead(header: Tokens.TableCell[]): string {
  return within("thead", renderTable(header, []));
}

/** Render rows of a table as the contents of a `tbody`. */
export function renderRows(rows: readonly Tokens.TableCell[][]): string {
  return within("tbody", renderTable([], [...rows]));
}

function renderTable(header: Tokens.TableCell[], rows: Tokens.TableCell[][]): string {
  const table: Tokens.Table = { type: "table", raw: "", align: [], header, rows };
  return renderBlock(table);
}

/** Return the contents of the element `name`. Raw HTML in a cell is text by now, so there is only one such element. */
function within(name: string, html: string): string {
  return html.slice(html.indexOf(`<${name}>`) + name.length + 2, html.lastIndexOf(`</${name}>`));
}

/** Render the inline content of a heading, or of a tight list item. */
export function renderInline(token: Token): string {
  return renderTokens((token as Tokens.Text).tokens ?? [token]);
}

/** Render inline tokens. */
export function renderTokens(tokens: Token[]): string {
  return sanitise(marked.Parser.parseInline(tokens, { ...marked.defaults }));
}

// Once, because DOMPurify builds its tables from a configuration, which takes longer than the sanitising of a short block.
DOMPurify.setConfig(PURIFY);
// On the element, because in the resulting text a title may look like the start of a link.
DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "IMG" && !SHOWN_IMAGE.test(node.getAttribute("src") ?? "")) node.remove();
  if (node.tagName !== "A" || !node.hasAttribute("href")) return;
  node.setAttribute("target", "_blank");
  node.setAttribute("rel", "noopener noreferrer");
});

export function sanitise(html: string): string {
  return DOMPurify.sanitize(html);
}

/** Markdown with the usual kinds of blocks. */
const SAMPLE = [
  ...["# Head", "A [link](https://example.org) with **strong**, *soft* and `short` words.", "1. one\n2. two", "> said"],
  ...["- a\n  - b", "| a | b |\n| - | -: |\n| 1 | 2 |", "```text\ncode\n```", "$x$", "---"],
].join("\n\n");

/**
 * Render a sample, and drop the result. The first call of the parser and of DOMPurify compiles them, which takes longer than
 * most texts. The page does that before the first text is drawn, in a task of its own.
 */
export async function warmUp(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve));
  sanitise(marked.parser(lex(SAMPLE)));
}
