import { checkpointsOf, type Checkpoints } from "./checkpoints";
import { setOpenFormula, openFormula } from "./formulas";
import { INTERRUPTS, isCode, leaves, lineOf, matchAt, ruleOf, type BlockState, type InlineState, type Parser } from "./parser";
import { INLINE_ELEMENTS } from "./raw_html";

/**
 * HTML elements within text, and `details`, whose contents are Markdown. Any other block of HTML has only HTML inside
 * (`raw_html.ts`). Elements that answers cannot use are shown as text.
 */
const NAMES = [...INLINE_ELEMENTS, "a"].join("|");
const TAG = new RegExp(`<(/?)(${NAMES})(\\s[^<>]*)?>`, "iy");
const TAGS = new RegExp(TAG.source, "gi");
const BREAK = /<(br|wbr) ?\/?>/iy;
const IMAGE = /<img(\s[^<>]*)>/iy;
/** A line that begins with such an element begins a paragraph, not a block of HTML. */
const BEGINS_TEXT = new RegExp(`^</?(?:br|wbr|img|${NAMES})(?:\\s[^<>]*)?/?>`, "i");

const DETAILS = /^<details( open(?:="(?:open)?")?)? ?>/i;
const DETAILS_TAG = /<(\/?)details[^<>]{0,20}>/gi;
const SUMMARY = /^\s*<summary>([\s\S]*?)<\/summary>/i;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
/** Maximum depth of `details` in each other, or after each other on one line. */
const MAX_FOLDED = 8;

export function readElements(md: Parser): void {
  const { alt } = INTERRUPTS;
  const rules = md.block.ruler;
  const htmlBlock = ruleOf(rules, "html_block");
  rules.before("fence", "details", details, { alt });
  rules.at(
    "html_block",
    (state, first, end, silent) => !BEGINS_TEXT.test(lineOf(state, first)) && htmlBlock(state, first, end, silent),
    { alt: ["paragraph", "reference", "blockquote"] },
  );
  md.inline.ruler.before("html_inline", "element", element);
  md.inline.ruler.disable("html_inline");
}

/** Read a foldable block. Without an end, which may still be written, it lasts to the end of the text. */
function details(state: BlockState, first: number, end: number, silent: boolean): boolean {
  const begin = DETAILS.exec(lineOf(state, first));
  const depth = (state.env["folded"] as number | undefined) ?? 0;
  if (begin === null || depth === MAX_FOLDED || isCode(state, first)) return false;
  if (silent) return true;
  const open = openFormula(state.env);
  const { inner, rest, next } = folded(state, first, end);
  state.line = next;
  state.env["folded"] = depth + 1;
  const token = state.push("details_open", "details", 1);
  token.meta = { open: begin[1] !== undefined };
  const summary = SUMMARY.exec(inner);
  if (summary !== null) {
    state.push("summary_open", "summary", 1);
    state.push("inline", "", 0).content = summary[1]!.trim();
    state.push("summary_close", "summary", -1);
  }
  parseWithin(state, inner.slice(summary?.[0].length ?? 0), checkpointsOf(state.env)?.within(first));
  state.push("details_close", "details", -1);
  const after = state.tokens.length;
  parseWithin(state, rest);
  for (const other of state.tokens.slice(after)) if (other.map !== null) other.map = [first, next];
  state.env["folded"] = depth;
  // Lines within the block were counted from its beginning.
  setOpenFormula(state.env, open);
  token.map = [first, next];
  return true;
}

/** Parse a part of a text as blocks at the depth of `state`. checkpoints: those of the part. */
function parseWithin(state: BlockState, text: string, checkpoints?: Checkpoints): void {
  if (text === "") return;
  const outer = checkpointsOf(state.env);
  state.env["checkpoints"] = checkpoints;
  checkpoints?.begin(text);
  const inner = new state.md.block.State(text, state.md, state.env, state.tokens);
  inner.level = state.level;
  state.md.block.tokenize(inner, 0, inner.lineMax);
  state.env["checkpoints"] = outer;
}

/** Return the text within a foldable block, the text after it on its last line, and the number of the next line. */
function folded(state: BlockState, first: number, end: number): { inner: string; rest: string; next: number } {
  const texts: string[] = [];
  const inner = () => texts.join("\n").replace(/^[^>]*>/, "");
  let depth = 0;
  let fence = "";
  for (let line = first; line < end; line++) {
    if (leaves(state, line)) return { inner: inner(), rest: "", next: line };
    const text = state.getLines(line, line + 1, state.blkIndent, false);
    const mark = FENCE.exec(text)?.[1];
    if (fence !== "") {
      if (mark?.startsWith(fence) && text.trim() === mark) fence = "";
    } else if (mark !== undefined) {
      fence = mark;
    } else if (text.includes("<")) {
      for (const { 0: tag, 1: slash, index } of text.matchAll(DETAILS_TAG)) {
        depth += slash === "/" ? -1 : 1;
        if (depth !== 0) continue;
        texts.push(text.slice(0, index));
        return { inner: inner(), rest: text.slice(index + tag.length).trim(), next: line + 1 };
      }
    }
    texts.push(text);
  }
  return { inner: inner(), rest: "", next: end };
}

/** Read an element that has its end in the same text, and its contents as Markdown. */
function element(state: InlineState, silent: boolean): boolean {
  if (state.src[state.pos] !== "<") return false;
  const line = matchAt(BREAK, state, state.pos);
  if (line !== null) {
    if (!silent) state.push(line[1]!.toLowerCase() === "br" ? "hardbreak" : "wbr", line[1]!.toLowerCase(), 0);
    state.pos += line[0].length;
    return true;
  }
  const picture = matchAt(IMAGE, state, state.pos);
  if (picture !== null) {
    if (!silent) pushImage(state, picture[1]!);
    state.pos += picture[0].length;
    return true;
  }
  const begin = matchAt(TAG, state, state.pos);
  const end = begin === null ? undefined : endsOf(state).get(state.pos);
  if (begin === null || end === undefined || end[1] > state.posMax) return false;
  if (!silent) pushElement(state, begin, end[0]);
  state.pos = end[1];
  return true;
}

function pushImage(state: InlineState, attributes: string): void {
  const token = state.push("image", "img", 0);
  token.attrs = [["src", attribute(attributes, "src")]];
  token.content = attribute(attributes, "alt");
}

function pushElement(state: InlineState, [tag, , name, attributes = ""]: RegExpExecArray, end: number): void {
  const isLink = name!.toLowerCase() === "a";
  const limit = state.posMax;
  const token = state.push(isLink ? "link_open" : "element_open", name!.toLowerCase(), 1);
  if (isLink) token.attrs = [["href", attribute(attributes, "href")]];
  state.pos += tag.length;
  state.posMax = end;
  if (isLink) state.linkLevel++;
  state.md.inline.tokenize(state);
  if (isLink) state.linkLevel--;
  state.push(isLink ? "link_close" : "element_close", name!.toLowerCase(), -1);
  state.posMax = limit;
}

const ends = new WeakMap<InlineState, Map<number, readonly [begin: number, end: number]>>();

/** Return begin and end of the end tag of each element, by the place of its start tag. The text is read once. */
function endsOf(state: InlineState): Map<number, readonly [begin: number, end: number]> {
  let known = ends.get(state);
  if (known !== undefined) return known;
  ends.set(state, (known = new Map()));
  const begun = new Map<string, number[]>();
  for (const { 0: tag, 1: slash, 2: name, index } of state.src.matchAll(TAGS)) {
    const places = begun.get(name!.toLowerCase()) ?? [];
    begun.set(name!.toLowerCase(), places);
    if (slash === "") places.push(index);
    else if (places.length > 0) known.set(places.pop()!, [index, index + tag.length]);
  }
  return known;
}

/** Return the value of an attribute; "" without one. */
function attribute(attributes: string, name: string): string {
  const match = new RegExp(`(?:^|\\s)${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"']+))`, "i").exec(attributes);
  return (match?.[1] ?? match?.[2] ?? match?.[3] ?? "").replaceAll("&quot;", '"').replaceAll("&amp;", "&");
}
