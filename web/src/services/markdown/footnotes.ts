import type { Token, TokenizerAndRendererExtension, Tokens } from "marked";

import { escapeHtml } from "./escape";
import { inParagraph } from "./paragraphs";

/** Footnotes: `[^label]` in the text, and `[^label]: text` on a line of its own, with further lines indented by four. */
const REFERENCE = /^\[\^([^\]\s]{1,40})\](?!:)/;
const DEFINITION = /^ {0,3}\[\^([^\]\s]{1,40})\]:[ \t]*/;
/** A line that ends the first paragraph of a footnote: another footnote, or the start of another kind of block. */
const OTHER_BLOCK = /^ {0,3}(?:\[\^[^\]\s]+\]:|`{3}|~{3}|#{1,6} |>|<details|[-*+] |\d{1,9}[.)] )/;
const INDENT = /^(?: {4}|\t)/;

/** Placeholder of a numbered reference in rendered HTML. Answers cannot set a class, so nothing else matches. */
const PLACEHOLDER = /<sup class="footnote">(\d+) (\d+)<\/sup>/g;

export interface Footnote extends Tokens.Generic {
  type: "footnote";
  label: string;
  /** Number of the references to the footnote. */
  references?: number;
}

/** All footnotes of a text, at its end. */
export interface FootnotesToken extends Tokens.Generic {
  type: "footnotes";
  items: Footnote[];
}

export const footnoteReference: TokenizerAndRendererExtension = {
  name: "footnoteReference",
  level: "inline",
  tokenizer(source) {
    const match = REFERENCE.exec(source);
    return match === null ? undefined : { type: "footnoteReference", raw: match[0], label: match[1]! };
  },
  renderer: ({ raw, number, occurrence }) =>
    number === undefined ? escapeHtml(raw) : `<sup class="footnote">${number} ${occurrence}</sup>`,
};

export const footnoteDefinition: TokenizerAndRendererExtension = {
  name: "footnote",
  level: "block",
  start: (source) => inParagraph(source, /(?<=\n) {0,3}\[\^[^\]\s]{1,40}\]:/),
  tokenizer(source) {
    const match = DEFINITION.exec(source);
    if (match === null) return undefined;
    const [first, ...rest] = source.slice(match[0].length).split("\n");
    const lines = [first!, ...rest.slice(0, continuation(rest))];
    const raw = match[0] + lines.join("\n");
    const { lexer } = this;
    const { top } = lexer.state;
    lexer.state.top = true;
    const tokens = lexer.blockTokens(lines.map((line) => line.replace(INDENT, "")).join("\n"), []);
    lexer.state.top = top;
    return { type: "footnote", raw, label: match[1]!, tokens } satisfies Footnote;
  },
  childTokens: ["tokens"],
};

/** Count the lines after the first that belong to a footnote: those of its paragraph, and indented ones after blank lines. */
function continuation(lines: readonly string[]): number {
  let count = 0;
  let blank = false;
  for (const [index, line] of lines.entries()) {
    if (line.trim() === "") {
      blank = true;
      continue;
    }
    if (!INDENT.test(line) && (blank || OTHER_BLOCK.test(line))) break;
    blank = false;
    count = index + 1;
  }
  return count;
}

/**
 * Number the footnotes among the blocks of a complete text by their first reference, and move them to its end. A reference
 * without a footnote stays as written. walk: calls its second argument with each token of the blocks.
 */
export function collectFootnotes(blocks: readonly Token[], walk: (tokens: Token[], visit: (token: Token) => void) => void): Token[] {
  const defined = new Map<string, Footnote>();
  for (const token of blocks) {
    if (isFootnote(token) && !defined.has(token.label)) defined.set(token.label, token);
  }
  const numbered: Footnote[] = [];
  const text = blocks.filter((token) => !isFootnote(token));
  walk([...text, ...defined.values()], (token) => {
    const footnote = token.type === "footnoteReference" ? defined.get((token as Tokens.Generic)["label"] as string) : undefined;
    if (footnote === undefined) return;
    if (!numbered.includes(footnote)) numbered.push(footnote);
    footnote.references = (footnote.references ?? 0) + 1;
    Object.assign(token, { number: numbered.indexOf(footnote) + 1, occurrence: footnote.references });
  });
  const items = [...numbered, ...blocks.filter(isFootnote).filter((token) => !numbered.includes(token))];
  const all: FootnotesToken = { type: "footnotes", raw: "", items };
  return [...text, all];
}

export function isFootnote(token: Token): token is Footnote {
  return token.type === "footnote";
}

/** Return the ids, in a document, of a footnote and of a reference to it. id: an id of the text that is unique in the document. */
export function noteId(id: string, number: number): string {
  return `${id}-note-${number}`;
}

export function referenceId(id: string, number: number, occurrence: number): string {
  return `${id}-reference-${number}-${occurrence}`;
}

/** Put links in place of the references in sanitised HTML. name: accessible name of the reference to a footnote. */
export function setReferences(html: string, id: string, name: (number: number) => string): string {
  return html.replace(PLACEHOLDER, (_whole, number: string, occurrence: string) => {
    const own = referenceId(id, Number(number), Number(occurrence));
    const label = escapeHtml(name(Number(number)));
    return `<sup><a class="footnote" id="${own}" href="#${noteId(id, Number(number))}" aria-label="${label}">${number}</a></sup>`;
  });
}
