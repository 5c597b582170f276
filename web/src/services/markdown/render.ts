import DOMPurify from "dompurify";

import { partsOf, type Align, type Block, type Inline, type NoteNumber, type TableBlock } from "./blocks";
import { checkpointsOf } from "./checkpoints";
import { escapeHtml } from "./escape";
import { newParser } from "./grammar";
import { image, link, LINKED, SHOWN_IMAGE } from "./links";
import { formulaSpan } from "./typeset";
import type { Env, Token } from "./parser";
import { piecesOf } from "./pieces";
import { BLOCK_ELEMENTS, INLINE_ELEMENTS, safeBlock } from "./raw_html";

/**
 * Renderer of Markdown as safe HTML. A model's output is untrusted: raw HTML is shown as text save for
 * harmless elements, images from elsewhere become links (no request leaves this server's origin), and the result passes
 * DOMPurify with a list of elements.
 */
const md = newParser();

md.renderer.rules["hardbreak"] = () => "<br>";
md.renderer.rules["image"] = (tokens, index) => {
  const token = tokens[index]!;
  const [address, text] = [String(token.attrGet("src") ?? ""), textOf(token)];
  return image(address, text) ?? link(address, null, escapeHtml(text || address));
};
md.renderer.rules["formula"] = (tokens, index) => formulaSpan(tokens[index]!.content, tokens[index]!.meta!["display"] as boolean);
md.renderer.rules["footnote_reference"] = (tokens, index, _options, env) => {
  const note = (env!["notes"] as (NoteNumber | null)[]).pop() ?? null;
  return note === null ? escapeHtml(tokens[index]!.content) : `<sup class="footnote">${note.number} ${note.occurrence}</sup>`;
};

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

/** Return the tokens of the blocks of `text`, whose newlines are `\n`. The parser resumes at the checkpoints of `env`, if there are any. */
export function parse(text: string, env: Env): Token[] {
  const tokens: Token[] = [];
  checkpointsOf(env)?.begin(text);
  md.block.parse(text, md, env, tokens);
  return tokens;
}

/** Tokens of texts without blocks. */
const parsed = new WeakMap<Inline, readonly Token[]>();

/** Return the tokens of a text without blocks. */
export function inlineTokens(text: Inline): readonly Token[] {
  let tokens = parsed.get(text);
  if (tokens === undefined) parsed.set(text, (tokens = tokensOf(text)));
  return tokens;
}

/** Return a text with the numbers of its footnotes. */
export function withNotes(text: Inline, notes: Inline["notes"]): Inline {
  const numbered = { ...text, notes };
  parsed.set(numbered, inlineTokens(text));
  return numbered;
}

function rawTokens({ source, references }: Inline): Token[] {
  const tokens: Token[] = [];
  md.inline.parse(source, md, references ? { references } : {}, tokens);
  return tokens;
}

function tokensOf(text: Inline): Token[] {
  const tokens = rawTokens(text);
  const links: Token[] = [];
  for (const token of tokens) {
    if (token.type === "text_special") token.type = "text";
    if (token.type === "link_close") token.tag = links.pop()!.tag;
    if (token.type !== "link_open") continue;
    links.push(token);
    const address = String(token.attrGet("href"));
    // An address that no link may have is the title of the text.
    if (!LINKED.test(address)) [token.tag, token.attrs] = ["span", [["title", address]]];
  }
  return tokens;
}

/** Return the text of an image, which has a text or tokens. */
function textOf({ content, children }: Token): string {
  if (children === null) return content;
  return children.map((child) => (child.type.endsWith("break") ? " " : textOf(child))).join("");
}

/** Level of an answer's highest heading, below the page's title and the speaker's name. */
export const TOP_LEVEL = 3;

/**
 * Return the level of each heading in the outline of the page, undefined for other blocks. No heading skips a level.
 * above: the level of the last heading before the blocks.
 */
export function outline(blocks: readonly Block[], above = TOP_LEVEL - 1): (number | undefined)[] {
  return blocks.map((block) => {
    if (block.type !== "heading") return undefined;
    above = Math.min(block.depth + TOP_LEVEL - 1, above + 1, 6);
    return above;
  });
}

/** What may begin emphasis, code, a formula or an element. */
const MARK = /[*_~`$<\\]/;

/** Return the tokens of a text, which ends between words; null if something that begins in it may end in what follows it. */
export function closedTokens(text: Inline): readonly Token[] | null {
  const tokens = inlineTokens(text);
  if (!MARK.test(text.source) && !text.source.includes("[")) return tokens;
  const texts = tokens.filter(({ type }) => type === "text");
  const mayReachOver = texts.some(({ markup, content }) => markup !== "" || MARK.test(content));
  return mayReachOver || hasOpenBracket(texts) ? null : tokens;
}

/** Return whether a link may begin that has no end. */
function hasOpenBracket(texts: readonly Token[]): boolean {
  let depth = 0;
  for (const { content } of texts) {
    if (content.includes("](")) return true;
    for (const letter of content) {
      if (letter === "[") depth++;
      if (letter === "]") depth = Math.max(0, depth - 1);
    }
  }
  return depth > 0;
}

/** Render the pieces in which a text without blocks is drawn. They are not safe yet: each is sanitised when it is drawn. */
export function renderPieces(text: Inline): string[] {
  const env = notesOf(text);
  return piecesOf(inlineTokens(text)).map((tokens) => md.renderer.renderInline(tokens, md.options, env));
}

/** Render a formula that takes whole lines. */
export function renderFormula(source: string): string {
  return sanitise(formulaSpan(source, true));
}

/** Render a block of HTML with its harmless elements; as a paragraph of text if it has others. */
export function renderHtml(source: string): string {
  return sanitise(safeBlock(source) ?? `<p>${escapeHtml(source)}</p>`);
}

/** Render the contents of a table's `thead`. */
export function renderHead(header: TableBlock["header"], align: readonly Align[]): string {
  return within("thead", row(header, align, "th"));
}

/** Render rows of a table as the contents of a `tbody`. */
export function renderRows(rows: TableBlock["rows"], align: readonly Align[]): string {
  return within("tbody", rows.map((cells) => row(cells, align, "td")).join(""));
}

function row(cells: readonly Inline[], align: readonly Align[], element: "th" | "td"): string {
  const html = cells.map((text, at) => `<${element}${align[at] ? ` align="${align[at]}"` : ""}>${inlineHtml(text)}</${element}>`);
  return `<tr>${html.join("")}</tr>`;
}

/** Return the sanitised contents of the element `name` of a table. */
function within(name: string, html: string): string {
  const table = sanitise(`<table><${name}>${html}</${name}></table>`);
  return table.slice(table.indexOf(`<${name}>`) + name.length + 2, table.lastIndexOf(`</${name}>`));
}

function inlineHtml(text: Inline): string {
  return md.renderer.renderInline([...inlineTokens(text)], md.options, notesOf(text));
}

/** Return what the renderer knows of the footnotes of a text: their numbers, the first at the end. */
function notesOf({ notes }: Inline): Env {
  return { notes: (notes ?? []).toReversed() };
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
  const html = partsOf(parse(SAMPLE, {}), {}).flatMap(({ blocks }) => blocks).map((block) => {
    if (block.type === "paragraph") return `<p>${inlineHtml(block.text)}</p>`;
    return block.type === "table" ? `<table><thead>${row(block.header, block.align, "th")}</thead></table>` : "";
  });
  sanitise(html.join(""));
}
