import { partsOf, type Block, type Part, type ReadTokens } from "./blocks";
import { Checkpoints } from "./checkpoints";
import { FinishedBlocks } from "./finished_blocks";
import { collectFootnotes } from "./footnotes";
import { openFormula } from "./formulas";
import { settledRows, withLinks, withRows, type SettledRows } from "./growing_table";
import { changedLabels, type References } from "./labels";
import type { Env } from "./parser";
import { parse } from "./render";
import { shared } from "./shared";

/**
 * Incremental parser of growing Markdown. Its blocks are those of the whole text, at every length. Blocks before the last
 * blank line can no longer change. Each update parses only the text after them. A block, or a part of one, that reads as before
 * stays the same object.
 */
export class GrowingText {
  private finished = new FinishedBlocks();
  private finishedText = "";
  /** Links that the finished text defines. */
  private finishedReferences: References = {};
  /** The containers of the text after the finished blocks. */
  private checkpoints = new Checkpoints();
  private blocksRead: ReadTokens = new WeakMap();
  /** Rows of a table with which the text after the finished blocks begins. */
  private settled: SettledRows | null = null;
  /** Links that the text of the last update defines. */
  private references: References = {};
  private shown: readonly Block[] = [];
  /** Whether the text is parsed more than once. Checkpoints are needless otherwise. */
  private grows = false;

  /** Return the blocks of `text`. */
  update(text: string): readonly Block[] {
    const rest = this.parsed(text);
    const tail = rest.parts.flatMap(({ blocks }) => blocks);
    this.grows = true;
    return (this.shown = shared(this.shown, collectFootnotes([...this.finished.all, ...tail])));
  }

  /** Parse the start of a text whose blocks are wanted later. */
  read(start: string): void {
    const finished = this.finishedText.length;
    this.parsed(start);
    // Checkpoints cost more than they save where each step finishes blocks.
    this.grows ||= this.finishedText.length === finished;
  }

  /** Parse the whole text, and return the part that further text may change. */
  private parsed(text: string): Rest {
    const source = /[\r\0]/.test(text) ? text.replace(/\r\n?/g, "\n").replaceAll("\0", "\ufffd") : text;
    if (!source.startsWith(this.finishedText)) this.reset();
    const rest = this.parse(source);
    this.finish(rest);
    return rest;
  }

  private parse(source: string): Rest {
    const text = own(source.slice(this.finishedText.length));
    const env: Env = { references: { ...this.finishedReferences } };
    if (this.grows) env["checkpoints"] = this.checkpoints;
    let settled = this.settled !== null && text.startsWith(this.settled.text) ? this.settled : null;
    const tokens = parse(settled === null ? text : settled.head + text.slice(settled.text.length), env);
    const references = env.references!;
    const changed = changedLabels(this.references, references);
    // A link may be defined after the blocks that use it.
    this.finished.define(changed, references);
    if (settled !== null && changed.length > 0) settled = withLinks(settled, references);
    if (changed.length > 0) this.blocksRead = new WeakMap();
    this.references = references;
    const parts = partsOf(tokens, references, this.grows ? this.blocksRead : null);
    if (settled === null) return { text, references, parts, open: openFormula(env) };
    return { text, references, parts: withRows(parts, settled), open: openFormula(env) + settled.rows.length };
  }

  /** Move the parts of `rest` that can no longer change to the finished ones. */
  private finish(rest: Rest): void {
    const { count, length } = finishedPart(rest);
    for (const { blocks, labels } of rest.parts.splice(0, count)) {
      for (const block of blocks) this.finished.add(shared(this.shown[this.finished.all.length], block));
      for (const label of labels) this.finishedReferences[label] ??= rest.references[label]!;
    }
    this.finishedText += rest.text.slice(0, length);
    this.settled = count > 0 || rest.parts[0]?.line === 0 ? settledRows(rest.text.slice(length), rest.parts) : null;
  }

  private reset(): void {
    this.finished = new FinishedBlocks();
    this.finishedText = "";
    this.finishedReferences = {};
    this.settled = null;
  }
}

/** The text after the finished blocks. open: first line of a formula whose end may still be written. */
interface Rest {
  text: string;
  references: References;
  parts: Part[];
  open: number;
}

/**
 * Return the number of leading parts that can no longer change, and the length of their text: those before a complete line
 * after a blank one, or of a footnote, because that line decides whether the last block continues.
 */
function finishedPart({ text, parts, open }: Rest): { count: number; length: number } {
  const lines = text.split("\n");
  const begins = ({ line, blocks }: Part, before: number) =>
    line > before && line <= open && line < lines.length - 1 && (lines[line - 1]!.trim() === "" || blocks[0]?.type === "footnote");
  let count = parts.length - 1;
  // Parts after a foldable part, on its last line, have its first line.
  while (count > 0 && !begins(parts[count]!, parts[count - 1]!.line)) count--;
  if (count <= 0) return { count: 0, length: 0 };
  return { count, length: lines.slice(0, parts[count]!.line).reduce((length, line) => length + line.length + 1, 0) };
}

/** Copy a text. A slice would keep the whole text in memory for as long as a block refers to it. */
function own(text: string): string {
  return ` ${text}`.slice(1);
}
