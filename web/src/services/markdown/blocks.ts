import { usedBy, type References } from "./labels";
import type { Token } from "./parser";

/** A text without blocks, which is parsed when it is drawn. */
export interface Inline {
  source: string;
  /** Definitions of the links that the text may use; null if there are none. */
  references: References | null;
  /** Numbers of the footnotes that the text refers to, in its order; null for a reference without a footnote. */
  notes: readonly (NoteNumber | null)[] | null;
}

export interface NoteNumber {
  number: number;
  /** Number of this reference among those to the same footnote, from 1. */
  occurrence: number;
}

/** A block of an answer. */
export type Block =
  | { type: "paragraph"; /** Whether the paragraph is in a list without blank lines. */ tight: boolean; text: Inline }
  | { type: "heading"; depth: number; text: Inline }
  | { type: "quote"; blocks: readonly Block[] }
  | { type: "list"; ordered: boolean; start: number; items: readonly Item[] }
  | { type: "details"; open: boolean; summary: Inline | null; blocks: readonly Block[] }
  | { type: "code"; code: string; info: string }
  | { type: "table"; align: readonly Align[]; header: readonly Inline[]; rows: readonly (readonly Inline[])[] }
  | { type: "html"; source: string }
  | { type: "formula"; source: string }
  | { type: "plain"; source: string }
  | { type: "rule" }
  | Footnote
  | { type: "footnotes"; items: readonly Footnote[] };

export type ListBlock = Extract<Block, { type: "list" }>;
export type TableBlock = Extract<Block, { type: "table" }>;
export type Align = "left" | "center" | "right" | null;

export interface Item {
  /** Whether the task of the item is done; null if the item is no task. */
  done: boolean | null;
  blocks: readonly Block[];
}

export interface Footnote {
  type: "footnote";
  label: string;
  /** Number of the references to the footnote. */
  references: number;
  blocks: readonly Block[];
}

/** A part at the top of a text: its first line, its blocks, and the labels of the links that it defines. */
export interface Part {
  line: number;
  blocks: readonly Block[];
  labels: readonly string[];
}

/** Blocks that were read from tokens, by the first of these. They hold for the same definitions of links. */
export type ReadTokens = WeakMap<Token, { blocks: Block[]; labels: readonly string[]; count: number; hidden: boolean }>;

/** Return the parts of the tokens of a text. */
export function partsOf(tokens: readonly Token[], references: References | null, read: ReadTokens | null = null): Part[] {
  const reader = new Reader(tokens, references, read);
  const parts: Part[] = [];
  while (!reader.ended) {
    const line = reader.next.map?.[0] ?? 0;
    parts.push({ line, blocks: reader.block(), labels: reader.takeLabels() });
  }
  return parts;
}

const TASK = /^\[([ xX])\][ \t]+(?=\S)/;

class Reader {
  private at = 0;
  private labels: string[] = [];

  constructor(
    private readonly tokens: readonly Token[],
    private readonly references: References | null,
    private readonly read: ReadTokens | null,
  ) {}

  get ended(): boolean {
    return this.at >= this.tokens.length;
  }

  get next(): Token {
    return this.tokens[this.at]!;
  }

  takeLabels(): readonly string[] {
    const { labels } = this;
    this.labels = [];
    return labels;
  }

  /** Read one block; none from a definition of a link. */
  block(): Block[] {
    const first = this.next;
    const known = this.read?.get(first);
    if (known?.hidden === first.hidden) {
      this.at += known.count;
      this.labels.push(...known.labels);
      return known.blocks;
    }
    const [from, labels] = [this.at, this.labels.length];
    const blocks = this.newBlock();
    this.read?.set(first, { blocks, labels: this.labels.slice(labels), count: this.at - from, hidden: first.hidden });
    return blocks;
  }

  private newBlock(): Block[] {
    const token = this.take();
    switch (token.type) {
      case "paragraph_open":
        return [{ type: "paragraph", tight: token.hidden, text: this.inlineUntilEnd() }];
      case "heading_open":
        return [{ type: "heading", depth: Number(token.tag.slice(1)), text: this.inlineUntilEnd() }];
      case "blockquote_open":
        return [{ type: "quote", blocks: this.until("blockquote_close") }];
      case "bullet_list_open":
      case "ordered_list_open":
        return [this.list(token)];
      case "details_open":
        return [this.details(token)];
      case "footnote_open":
        return [{ type: "footnote", label: token.meta!["label"] as string, references: 0, blocks: this.until("footnote_close") }];
      case "table_open":
        return [this.table()];
      case "fence":
      case "code_block":
        return [{ type: "code", code: token.content.replace(/\n$/, ""), info: token.info.trim() }];
      case "html_block":
        return [{ type: "html", source: token.content }];
      case "formula":
      case "plain":
        return [{ type: token.type, source: token.content }];
      case "hr":
        return [{ type: "rule" }];
      case "reference_definition":
        this.labels.push(token.meta!["label"] as string);
        return [];
      default:
        return [];
    }
  }

  private take(): Token {
    return this.tokens[this.at++]!;
  }

  private until(close: string): Block[] {
    const blocks: Block[] = [];
    while (!this.ended && this.next.type !== close) blocks.push(...this.block());
    this.at++;
    return blocks;
  }

  private list(open: Token): Block {
    const items: Item[] = [];
    while (this.next.type === "list_item_open") {
      this.at++;
      items.push(withTask(this.until("list_item_close")));
    }
    this.at++;
    const start = Number(open.attrGet("start") ?? 1);
    return { type: "list", ordered: open.tag === "ol", start, items };
  }

  private details(open: Token): Block {
    let summary: Inline | null = null;
    if (this.next.type === "summary_open") {
      this.at++;
      summary = this.inlineUntilEnd();
    }
    return { type: "details", open: open.meta!["open"] as boolean, summary, blocks: this.until("details_close") };
  }

  private table(): Block {
    const align: Align[] = [];
    const rows: Inline[][] = [];
    for (let token = this.take(); token.type !== "table_close"; token = this.take()) {
      if (token.type === "tr_open") rows.push([]);
      if (token.type === "th_open") align.push(alignOf(token));
      if (token.type === "inline") rows.at(-1)!.push(this.inline(token.content));
    }
    return { type: "table", align, header: rows[0]!, rows: rows.slice(1) };
  }

  /** Read an inline token and the end of its block. */
  private inlineUntilEnd(): Inline {
    const { content } = this.take();
    this.at++;
    return this.inline(content);
  }

  private inline(source: string): Inline {
    return { source, references: usedBy(source, this.references), notes: null };
  }
}

function alignOf(token: Token): Align {
  return (String(token.attrGet("style") ?? "").slice("text-align:".length) || null) as Align;
}

/** Return an item of a list, whose first paragraph may begin with the box of a task. */
function withTask(blocks: readonly Block[]): Item {
  const [first, ...rest] = blocks;
  const box = first?.type === "paragraph" ? TASK.exec(first.text.source) : null;
  if (box === null || first?.type !== "paragraph") return { done: null, blocks };
  const source = first.text.source.slice(box[0].length);
  const text = { ...first.text, source, references: usedBy(source, first.text.references) };
  return { done: box[1] !== " ", blocks: [{ ...first, text }, ...rest] };
}
