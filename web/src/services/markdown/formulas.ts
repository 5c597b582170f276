import { INTERRUPTS, isCode, leaves, lineOf, matchAt, type BlockState, type Env, type InlineState, type Parser } from "./parser";

/**
 * TeX inside Markdown: `$…$`, `$$…$$`, `\(…\)` and `\[…\]`. Prices and shell variables have dollar signs too, so a single one
 * opens a formula only before a character that is no space, and after none that is a letter or a digit. The closing one
 * is the opposite. Escaped brackets around a number or a word are no formula.
 */
const DOLLARS = /(?<![A-Za-z0-9])\$(?![\s$])(?:\\.|[^\\$`\n])+?(?<!\s)\$(?![A-Za-z0-9])/y;
const ENDS: Readonly<Record<string, string>> = { $$: "$$", "\\[": "\\]", "\\(": "\\)" };
/** A sign of mathematics between brackets. */
const MATHEMATICS = /[\\^_=+<>{}]/;
const NUMBERS = /^[\d\s,;.–-]*$/;

/** Bounds of one formula, in characters and lines. */
const MAX_TEX = 4_000;
const MAX_LINES = 100;

export function readFormulas(md: Parser): void {
  md.block.ruler.before("fence", "formula", block, INTERRUPTS);
  md.inline.ruler.before("escape", "formula", inline);
}

/** Return the first line of a text that may begin a formula whose end is not yet written; Infinity without one. */
export function openFormula(env: Env): number {
  return (env["openFormula"] as number | undefined) ?? Infinity;
}

export function setOpenFormula(env: Env, line: number): void {
  env["openFormula"] = line;
}

/** Read a formula that takes whole lines. */
function block(state: BlockState, first: number, end: number, silent: boolean): boolean {
  const begin = lineOf(state, first).slice(0, 2);
  const close = ENDS[begin];
  if (close === undefined || close === "\\)" || isCode(state, first)) return false;
  const from = state.bMarks[first]! + state.tShift[first]! + 2;
  if (nextEnd(state, close, from) > from + MAX_TEX) {
    if (state.src.length < from + MAX_TEX) open(state, first);
    return false;
  }
  for (let line = first, source = ""; line < end && line < first + MAX_LINES; line++) {
    if (leaves(state, line)) return false;
    const text = line === first ? lineOf(state, line).slice(2) : state.getLines(line, line + 1, state.blkIndent, false);
    const at = text.indexOf(close);
    source += `${line === first ? "" : "\n"}${at < 0 ? text : text.slice(0, at)}`;
    if (at < 0) continue;
    if (text.slice(at + 2).trim() !== "" || source.trim() === "" || (begin === "\\[" && NUMBERS.test(source))) return false;
    if (!silent) {
      push(state, `${begin}${source}${close}`, true).map = [first, line + 1];
      state.line = line + 1;
    }
    return true;
  }
  if (end === state.lineMax) open(state, first);
  return false;
}

function open(state: BlockState, line: number): void {
  setOpenFormula(state.env, Math.min(line, openFormula(state.env)));
}

/** Read a formula within text. */
function inline(state: InlineState, silent: boolean): boolean {
  const begin = state.src.slice(state.pos, state.pos + 2);
  const close = ENDS[begin];
  let source: string;
  if (close !== undefined) {
    const end = nextEnd(state, close, state.pos + 2);
    if (end + 2 > state.posMax || end > state.pos + 2 + MAX_TEX) return false;
    source = state.src.slice(state.pos, end + 2);
    const tex = source.slice(2, -2);
    if (tex.trim() === "" || (close === "$$" && tex.includes("$")) || (close === "\\]" && !MATHEMATICS.test(tex))) return false;
  } else {
    const match = begin.startsWith("$") ? matchAt(DOLLARS, state, state.pos) : null;
    if (match === null) return false;
    source = match[0];
  }
  if (!silent) push(state, source, close === "$$" || close === "\\]");
  state.pos += source.length;
  return true;
}

function push(state: BlockState | InlineState, source: string, display: boolean) {
  const token = state.push("formula", "", 0);
  token.content = source;
  token.meta = { display };
  return token;
}

/** The last end that was searched, by its delimiter: where the search began, and where the end is. */
const searched = new WeakMap<BlockState | InlineState, Map<string, readonly [from: number, to: number]>>();

/** Return the place of the next `close`; Infinity without one. All searches of a text read it once. */
function nextEnd(state: BlockState | InlineState, close: string, from: number): number {
  let ends = searched.get(state);
  if (ends === undefined) searched.set(state, (ends = new Map()));
  const known = ends.get(close);
  if (known !== undefined && known[0] <= from && from <= known[1]) return known[1];
  const index = state.src.indexOf(close, from);
  const to = index < 0 ? Infinity : index;
  ends.set(close, [from, to]);
  return to;
}
