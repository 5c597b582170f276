import { mapList } from "./block_texts";
import type { Part, TableBlock } from "./blocks";
import { defined } from "./finished_blocks";
import type { References } from "./labels";

/** Most cells of settled rows. A parser of Markdown adds at most 65,536 cells that rows lack. */
const MOST_CELLS = 60_000;
const HEAD_LINES = 2;

/** Rows at the beginning of a growing table that can no longer change: each begins with a bar, and its line is complete. */
export interface SettledRows {
  /** The lines of the head. */
  head: string;
  /** The lines of the head and of the rows. */
  text: string;
  rows: TableBlock["rows"];
}

/** Return the settled rows of a text that is nothing but a table; null if there are none. */
export function settledRows(text: string, parts: readonly Part[]): SettledRows | null {
  const table = parts[0]?.blocks[0];
  if (parts.length !== 1 || table?.type !== "table" || parts[0]!.blocks.length !== 1) return null;
  const lines = text.split("\n");
  const end = lines.slice(0, -1).findIndex((line) => !line.startsWith("|"));
  const count = (end < 0 ? lines.length - 1 : end) - HEAD_LINES;
  if (count < 1 || count > table.rows.length || count * table.header.length > MOST_CELLS) return null;
  const until = (line: number) => `${lines.slice(0, line).join("\n")}\n`;
  return { head: until(HEAD_LINES), text: until(HEAD_LINES + count), rows: table.rows.slice(0, count) };
}

/** Return settled rows with other definitions of links. */
export function withLinks(settled: SettledRows, references: References): SettledRows {
  return { ...settled, rows: mapList(settled.rows, (row) => mapList(row, (text) => defined(text, references))) };
}

/** Return the parts of a text, given those of its head and of what follows its settled rows. */
export function withRows(parts: readonly Part[], { rows }: SettledRows): Part[] {
  return parts.map((part, at) => {
    if (at > 0) return { ...part, line: part.line + rows.length };
    const [table, ...others] = part.blocks as [TableBlock];
    return { ...part, blocks: [{ ...table, rows: [...rows, ...table.rows] }, ...others] };
  });
}
