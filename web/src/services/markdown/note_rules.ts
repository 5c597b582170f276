import { INTERRUPTS, isCode, lineOf, matchAt, type BlockState, type InlineState, type Parser } from "./parser";

/** Footnotes: `[^label]` in the text, and `[^label]: text` on a line of its own, with further lines indented by four. */
const REFERENCE = /\[\^([^\]\s]{1,40})\](?!:)/y;
const DEFINITION = /^\[\^([^\]\s]{1,40})\]:[ \t]*/;

export function readNotes(md: Parser): void {
  md.block.ruler.before("reference", "footnote", definition, INTERRUPTS);
  md.inline.ruler.before("link", "footnote_reference", reference);
}

function definition(state: BlockState, first: number, end: number, silent: boolean): boolean {
  const match = isCode(state, first) ? null : DEFINITION.exec(lineOf(state, first));
  if (match === null) return false;
  if (silent) return true;
  const token = state.push("footnote_open", "", 1);
  token.meta = { label: match[1]! };
  const { blkIndent, parentType, listIndent } = state;
  const [mark, shift, indent] = [state.bMarks[first]!, state.tShift[first]!, state.sCount[first]!];
  state.blkIndent = indent + 4;
  state.listIndent = -1;
  state.parentType = "root";
  state.bMarks[first] = mark + shift + match[0].length;
  state.tShift[first] = 0;
  state.sCount[first] = state.blkIndent;
  if (state.isEmpty(first)) state.line = first + 1;
  state.md.block.tokenize(state, first, end);
  Object.assign(state, { blkIndent, parentType, listIndent });
  state.bMarks[first] = mark;
  state.tShift[first] = shift;
  state.sCount[first] = indent;
  state.line = Math.max(state.line, first + 1);
  token.map = [first, state.line];
  state.push("footnote_close", "", -1);
  return true;
}

function reference(state: InlineState, silent: boolean): boolean {
  const match = matchAt(REFERENCE, state, state.pos);
  if (match === null) return false;
  if (!silent) {
    const token = state.push("footnote_reference", "", 0);
    token.content = match[0];
    token.meta = { label: match[1]! };
  }
  state.pos += match[0].length;
  return true;
}
