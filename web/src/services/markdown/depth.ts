import type { BlockState, InlineState, Parser } from "./parser";

/** Blocks within each other, and emphasis within each other. Beyond that, a text is shown as it is written. */
const MAX_LEVEL = 50;

/** Limit the depth of what a text nests, without a loss of words. */
export function limitDepth(md: Parser): void {
  md.block.ruler.before("table", "deep", deepBlock);
  md.inline.ruler2.before("fragments_join", "deep", deepEmphasis);
}

function deepBlock(state: BlockState, first: number, end: number, silent: boolean): boolean {
  if (silent || state.level < MAX_LEVEL) return false;
  let line = first + 1;
  // Lazy lines of a quote have a negative indentation.
  while (line < end && (state.isEmpty(line) || state.sCount[line]! < 0 || state.sCount[line]! >= state.blkIndent)) line++;
  const token = state.push("plain", "", 0);
  token.content = state.getLines(first, line, state.blkIndent, false).trim();
  state.line = line;
  return true;
}

/** Show the marks of too deep emphasis as text. */
function deepEmphasis(state: InlineState): void {
  const shown: boolean[] = [];
  for (const token of state.tokens) {
    if (token.nesting === 0) continue;
    const isShown = token.nesting > 0 ? shown.push(shown.length >= MAX_LEVEL && token.markup !== "") && shown.at(-1)! : shown.pop()!;
    if (!isShown) continue;
    Object.assign(token, { type: "text", tag: "", nesting: 0, content: token.markup });
  }
}
