import { INTERRUPTS, isCode, leaves, lineOf, type BlockState, type Parser } from "./parser";

/**
 * Fenced code. In a block of Markdown, a fence with a language begins a block of its own, whose end is not the end of the
 * outer one: models quote Markdown with code in it, and use as many marks for both.
 */
const FENCE = /^(`{3,}|~{3,})[ \t]*(.*?)[ \t]*$/;
const MARKDOWN = /^(?:markdown|md)\b/i;

export function readFences(md: Parser): void {
  md.block.ruler.at("fence", fence, INTERRUPTS);
}

function fence(state: BlockState, first: number, end: number, silent: boolean): boolean {
  const begin = isCode(state, first) ? null : fenceOf(lineOf(state, first));
  if (begin === null) return false;
  if (silent) return true;
  const { line, closed } = endOf(state, first, end, begin);
  const token = state.push("fence", "code", 0);
  token.info = begin.info;
  token.content = state.getLines(first + 1, line, state.sCount[first]!, true);
  state.line = line + (closed ? 1 : 0);
  token.map = [first, state.line];
  return true;
}

/** Return the line that ends a fence, or the one after its block. */
function endOf(state: BlockState, first: number, end: number, { mark, info }: Fence): { line: number; closed: boolean } {
  const inner: string[] = [];
  let line = first + 1;
  for (; line < end && !leaves(state, line); line++) {
    const other = isCode(state, line) ? null : fenceOf(lineOf(state, line));
    if (other === null || !other.mark.startsWith(mark)) continue;
    if (other.info !== "") {
      if (MARKDOWN.test(info)) inner.push(other.mark);
    } else if (inner.length === 0) {
      return { line, closed: true };
    } else if (other.mark.startsWith(inner.at(-1)!)) {
      inner.pop();
    }
  }
  return { line, closed: false };
}

interface Fence {
  mark: string;
  info: string;
}

function fenceOf(line: string): Fence | null {
  const [, mark, info] = FENCE.exec(line) ?? [];
  return mark === undefined || (mark.startsWith("`") && info!.includes("`")) ? null : { mark, info: info! };
}
