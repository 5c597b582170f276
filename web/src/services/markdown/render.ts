import DOMPurify from "dompurify";
import { Marked, type Token, type Tokens } from "marked";

import { markdownTexts } from "../../i18n/markdown";
import { escapeHtml } from "./escape";
import { collectFootnotes, footnoteDefinition, footnoteReference, isFootnote } from "./footnotes";
import { details, html, inlineHtml } from "./html_tokens";
import { blockMath, inlineMath } from "./math_tokens";

/** Addresses that links may have. A relative address would lead into the page, not to a file that the model means. */
const LINKED = /^(?:https?:|mailto:)/i;

/** Images that are shown. They are part of the answer, so no request is made for them. */
const SHOWN_IMAGE = /^data:image\/(?:png|jpeg|gif|webp);base64,[a-z0-9+/]+=*$/i;

/**
 * Renderer of Markdown as safe HTML. A model's output is untrusted: raw HTML is shown as text save for a few
 * elements, images from elsewhere become links (no request leaves this server's origin), and the result passes DOMPurify
 * with a short list of elements.
 */
const marked = new Marked({
  gfm: true,
  extensions: [inlineMath, blockMath, inlineHtml, details, footnoteReference, footnoteDefinition],
  tokenizer: { html },
  renderer: {
    html: ({ text }) => escapeHtml(text),
    link({ href, title, tokens }) {
      return link(href, title, this.parser.parseInline(tokens));
    },
    image: ({ href, title, text }) => image(href, text) ?? link(href, title, escapeHtml(text || href)),
    checkbox: ({ checked }) =>
      `<input type="checkbox" disabled aria-label="${checked ? markdownTexts().done : markdownTexts().todo}"${checked ? " checked" : ""}> `,
  },
});

const ALLOWED_TAGS = ["p", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "del", "code", "br", "hr", "a", "span"];
const INLINE_TAGS = ["sub", "sup", "kbd", "mark"];
const TABLE_TAGS = ["table", "thead", "tbody", "tr", "th", "td"];
const PURIFY = {
  ALLOWED_TAGS: [...ALLOWED_TAGS, ...INLINE_TAGS, ...TABLE_TAGS, "img", "input", "#text"],
  ALLOWED_ATTR: ["href", "src", "alt", "title", "align", "class", "type", "checked", "disabled"],
  // DOMPurify checks every other attribute against the pattern for addresses.
  ADD_URI_SAFE_ATTR: ["align", "alt", "type"],
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

// On the element, because in the resulting text a title may look like the start of a link.
DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "IMG" && !SHOWN_IMAGE.test(node.getAttribute("src") ?? "")) node.remove();
  if (node.tagName !== "A" || !node.hasAttribute("href")) return;
  node.setAttribute("target", "_blank");
  node.setAttribute("rel", "noopener noreferrer");
});

export function sanitise(html: string): string {
  return DOMPurify.sanitize(html, PURIFY);
}

/** Return an image that is part of the answer; null for any other address. */
function image(href: string, text: string): string | null {
  return SHOWN_IMAGE.test(href) ? `<img src="${href}" alt="${escapeHtml(text)}">` : null;
}

/** Return a link, or its text alone, with the address as its title, if the address is not allowed. */
function link(href: string, title: string | null | undefined, html: string): string {
  if (!LINKED.test(href)) return `<span title="${escapeHtml(href)}">${html}</span>`;
  return `<a href="${escapeHtml(href)}"${title ? ` title="${escapeHtml(title)}"` : ""}>${html}</a>`;
}
