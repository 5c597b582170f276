import MarkdownIt from "markdown-it";

/** Types of the parser's states and tokens, which the package exports through its class alone. */
export type Parser = InstanceType<typeof MarkdownIt>;
export type Token = InstanceType<typeof MarkdownIt.Token>;
export type BlockState = InstanceType<typeof MarkdownIt.StateBlock>;
export type InlineState = InstanceType<typeof MarkdownIt.StateInline>;
export type Env = BlockState["env"];

/** Return the text of a line after its indentation. */
export function lineOf(state: BlockState, line: number): string {
  return state.src.slice(state.bMarks[line]! + state.tShift[line]!, state.eMarks[line]);
}

/** Return whether a line is indented as far as code. */
export function isCode(state: BlockState, line: number): boolean {
  return state.sCount[line]! - state.blkIndent >= 4;
}

/** Return whether a line is outside the block of a list, or of anything else, that is being read. */
export function leaves(state: BlockState, line: number): boolean {
  return !state.isEmpty(line) && state.sCount[line]! < state.blkIndent;
}

/** Return the match of a sticky pattern at a position; null without one that ends in time. */
export function matchAt(pattern: RegExp, state: InlineState, position: number): RegExpExecArray | null {
  pattern.lastIndex = position;
  const match = pattern.exec(state.src);
  return match !== null && position + match[0].length <= state.posMax ? match : null;
}

/** Blocks that a block of these rules may interrupt. */
export const INTERRUPTS = { alt: ["paragraph", "reference", "blockquote", "list"] };

type BlockRules = Parser["block"]["ruler"];

/** Return the enabled rule of a name. */
export function ruleOf(rules: BlockRules, name: string): ReturnType<BlockRules["getRules"]>[number] {
  const all = rules.getRules("");
  rules.disable(name);
  const others = new Set(rules.getRules(""));
  rules.enable(name);
  return all.find((rule) => !others.has(rule))!;
}
