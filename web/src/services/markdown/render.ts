import DOMPurify from "dompurify";
import { Marked, type Token, type Tokens } from "marked";

import { t } from "../../i18n/language.svelte";
import { blockMath, inlineMath } from "./math_tokens";

/**
 * Markdown to safe HTML. What a model writes is untrusted: its raw HTML is shown as text, its images become links (no
 * request leaves this server's origin), and everything that is left passes DOMPurify with a short list of elements.
 */
const marked = new Marked({
  gfm: true,
  extensions: [inlineMath, blockMath],
  renderer: {
    html: ({ text }) => escapeHtml(text),
    image: ({ href, text }) => `<a href="${escapeHtml(href)}">${escapeHtml(text || href)}</a>`,
    checkbox: ({ checked }) =>
      `<input type="checkbox" disabled aria-label="${checked ? t().markdown.done : t().markdown.todo}"${checked ? " checked" : ""}> `,
  },
});

const ALLOWED_TAGS = ["p", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "del", "code", "br", "hr", "a", "span"];
const TABLE_TAGS = ["table", "thead", "tbody", "tr", "th", "td"];
const PURIFY = {
  ALLOWED_TAGS: [...ALLOWED_TAGS, ...TABLE_TAGS, "input", "#text"],
  ALLOWED_ATTR: ["href", "title", "align", "class", "type", "checked", "disabled"],
  // DOMPurify holds every other attribute against the pattern for addresses.
  ADD_URI_SAFE_ATTR: ["align", "type"],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|#)/i,
};

/** The block tokens of `text`, in order. The text is normalised by the caller: newlines are `\n`. */
export function lex(text: string): Token[] {
  return marked.lexer(text);
}

/** Above the headings of an answer stand the page's title and the one that names who speaks. */
export const TOP_LEVEL = 3;

/**
 * The level of each heading in the outline of the page, undefined of what is none: no heading skips a level.
 * above: the level of the heading before them.
 */
export function outline(blocks: readonly Token[], above = TOP_LEVEL - 1): (number | undefined)[] {
  return blocks.map((token) => {
    if (token.type !== "heading") return undefined;
    above = Math.min((token as Tokens.Heading).depth + TOP_LEVEL - 1, above + 1, 6);
    return above;
  });
}

/** HTML of one block that holds no other block (paragraph, heading, table, rule). */
export function renderBlock(token: Token): string {
  return sanitise(marked.parser([token]));
}

/** HTML of a table's head, to stand in `thead`. */
export function renderHead(header: Tokens.TableCell[]): string {
  return within("thead", renderTable(header, []));
}

/** HTML of some rows of a table, to stand in `tbody`. */
export function renderRows(rows: readonly Tokens.TableCell[][]): string {
  return within("tbody", renderTable([], [...rows]));
}

function renderTable(header: Tokens.TableCell[], rows: Tokens.TableCell[][]): string {
  const table: Tokens.Table = { type: "table", raw: "", align: [], header, rows };
  return renderBlock(table);
}

/** Raw HTML in a cell is text by now, so no other element of this name is there. */
function within(name: string, html: string): string {
  return html.slice(html.indexOf(`<${name}>`) + name.length + 2, html.lastIndexOf(`</${name}>`));
}

/** HTML of the inline content of a heading, or of a tight list item's text. */
export function renderInline(token: Token): string {
  const tokens = (token as Tokens.Text).tokens ?? [token];
  return sanitise(marked.Parser.parseInline(tokens, { ...marked.defaults }));
}

// On the element and not in the text that comes out: there a title may look like the start of a link.
DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName !== "A" || !node.hasAttribute("href")) return;
  node.setAttribute("target", "_blank");
  node.setAttribute("rel", "noopener noreferrer");
});

export function sanitise(html: string): string {
  return DOMPurify.sanitize(html, PURIFY);
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
