import { openFormula } from "./formulas";
import type { References } from "./labels";
import type { BlockState, Env, Parser, Token } from "./parser";

/** The place at which the parser resumes a container: a list item, a quote, a foldable part, or a footnote. */
interface Checkpoint {
  /** The line to go on at. */
  line: number;
  /** Tokens of the lines before. */
  tokens: Token[];
  /** Links that the tokens define. */
  references: References;
  /** Whether no line of the container follows, and then whether it has no blank line between its blocks. */
  end: { tight: boolean } | null;
}

/**
 * What a parser keeps of a growing text until it reads the text again: the blocks inside containers that can no longer change.
 * These end where a container ends, or before a block after a blank line, if that line is complete.
 */
export class Checkpoints {
  /** The complete lines for which the checkpoints hold. */
  private lines = "";
  /** Number of the complete lines. */
  private complete = 0;
  private readonly containers = new Map<number, Checkpoint>();
  private readonly parts = new Map<number, Checkpoints>();

  /** Go on with a text, which need not have grown. */
  begin(text: string): void {
    if (!text.startsWith(this.lines)) {
      this.containers.clear();
      this.parts.clear();
      this.lines = "";
      this.complete = 0;
    }
    const known = this.lines.length;
    this.lines = text.slice(0, text.lastIndexOf("\n") + 1);
    for (let at = text.indexOf("\n", known); at >= 0; at = text.indexOf("\n", at + 1)) this.complete++;
  }

  /** Return the checkpoints of the text within the foldable part that begins at a line. */
  within(line: number): Checkpoints {
    const known = this.parts.get(line) ?? new Checkpoints();
    this.parts.set(line, known);
    return known;
  }

  get(state: BlockState, first: number): Checkpoint | undefined {
    return this.containers.get(key(state, first));
  }

  /** Return whether a line is complete and begins a block, or what follows a container, whatever is written after it. */
  isSettled(state: BlockState, line: number): boolean {
    return line < this.complete && line <= openFormula(state.env);
  }

  set(state: BlockState, first: number, checkpoint: Checkpoint): void {
    this.containers.set(key(state, first), checkpoint);
  }
}

/** A container begins at a line, and no two at the same line and level. A level is less than 1,000. */
function key({ level }: BlockState, first: number): number {
  return first * 1_000 + level;
}

export function checkpointsOf(env: Env): Checkpoints | undefined {
  return env["checkpoints"] as Checkpoints | undefined;
}

/** Let a parser go on at the checkpoints of its environment. Without them it reads as the package does. */
export function resume(md: Parser): void {
  const { block } = md;
  const { maxNesting } = md.options;

  /** Read one block. */
  function read(state: BlockState, line: number, end: number): void {
    for (const rule of block.ruler.getRules("")) {
      if (!rule(state, line, end, false)) continue;
      if (state.line <= line) throw new Error("A rule of the parser read no line");
      return;
    }
    throw new Error("No rule of the parser reads a block");
  }

  block.tokenize = (state, first, end) => {
    const checkpoints = checkpointsOf(state.env);
    const before = checkpoints?.get(state, first);
    const from = state.tokens.length;
    let line = before === undefined ? first : goOn(state, before);
    if (before?.end) return;
    let cut = { line, count: before?.tokens.length ?? 0 };
    let hasEmptyLines = before !== undefined;
    let hasEnded = false;
    while (line < end) {
      state.line = line = state.skipEmptyLines(line);
      if (line >= end) break;
      hasEnded = state.sCount[line]! < state.blkIndent;
      if (hasEnded) break;
      if (state.level >= maxNesting) {
        state.line = end;
        break;
      }
      const count = state.tokens.length - from;
      if (count > 0 && state.isEmpty(line - 1) && checkpoints?.isSettled(state, line)) cut = { line, count };
      read(state, line, end);
      state.tight = !hasEmptyLines;
      hasEmptyLines ||= state.isEmpty(state.line - 1);
      line = state.line;
      if (line < end && state.isEmpty(line)) {
        hasEmptyLines = true;
        state.line = ++line;
      }
    }
    if (checkpoints === undefined) return;
    hasEnded &&= checkpoints.isSettled(state, line);
    if (hasEnded) cut = { line, count: state.tokens.length - from };
    if (cut.count === 0 || !checkpoints.isSettled(state, cut.line)) return;
    const { tokens, references }: Pick<Checkpoint, "tokens" | "references"> = before ?? { tokens: [], references: {} };
    for (const token of state.tokens.slice(from + tokens.length, from + cut.count)) {
      tokens.push(token);
      if (token.type === "reference_definition") define(references, state.env.references!, token);
    }
    checkpoints.set(state, first, { line: cut.line, tokens, references, end: hasEnded ? { tight: state.tight } : null });
  };
}

/** Put the tokens of a checkpoint into a state. Return the line at which to go on. */
function goOn(state: BlockState, { line, tokens, references, end }: Checkpoint): number {
  for (const [index, token] of tokens.entries()) {
    // The list around them may have got a blank line.
    if (token.type === "paragraph_open" && token.level === state.level) token.hidden = tokens[index + 2]!.hidden = false;
    state.tokens.push(token);
  }
  const known = (state.env.references ??= {});
  for (const [label, reference] of Object.entries(references)) known[label] ??= reference;
  state.line = line;
  if (end !== null) state.tight = end.tight;
  return line;
}

function define(references: References, all: References, { meta }: Token): void {
  const label = meta!["label"] as string;
  references[label] = all[label]!;
}
