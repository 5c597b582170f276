import { lineOf, ruleOf, type BlockState, type Parser } from "./parser";

/** Keep the cells of a row that has more of them than its table has columns: they join the last one. */
export function keepCells(md: Parser): void {
  const rules = md.block.ruler;
  const table = ruleOf(rules, "table");
  rules.at(
    "table",
    (state, first, end, silent) => {
      const before = state.tokens.length;
      if (!table(state, first, end, silent)) return false;
      if (!silent) joinCells(state, before);
      return true;
    },
    { alt: ["paragraph", "reference"] },
  );
}

function joinCells(state: BlockState, from: number): void {
  let columns = 0;
  let count = 0;
  let line = 0;
  for (let index = from; index < state.tokens.length; index++) {
    const token = state.tokens[index]!;
    if (token.type === "th_open") columns++;
    if (token.type === "tr_open") [count, line] = [0, token.map![0]];
    if (token.type !== "td_open" || ++count !== columns) continue;
    const more = cellsOf(lineOf(state, line)).slice(columns);
    if (more.length > 0) state.tokens[index + 1]!.content += ` | ${more.join(" | ")}`;
  }
}

/** Return the cells of a row. A bar after a backslash is part of its cell. */
function cellsOf(row: string): string[] {
  const cells = row.trim().split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
  if (cells[0] === "") cells.shift();
  if (cells.at(-1) === "") cells.pop();
  return cells;
}
