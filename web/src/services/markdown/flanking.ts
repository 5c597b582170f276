import MarkdownIt from "markdown-it";

/**
 * Marks of emphasis next to Chinese, Japanese and Korean. These scripts put no space around a mark, and models emphasize a
 * sentence together with its full-width punctuation. Their punctuation therefore counts as letters, and any of their characters
 * allows punctuation on the other side of a mark, as a space does. Otherwise the rules are those of CommonMark.
 */
const CJK =
  /[\u1100-\u11ff\u2e80-\u30ff\u3100-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\u{1b000}-\u{1b16f}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]/u;
const SPACE = /[\s\p{Zs}]/u;
const PUNCTUATION = /[\p{P}\p{S}]/u;

export class FlankingState extends MarkdownIt.StateInline {
  override scanDelims(start: number, canSplitWord: boolean) {
    const mark = this.src[start];
    let end = start;
    while (end < this.posMax && this.src[end] === mark) end++;
    const before = kindOf(start === 0 ? " " : [...this.src.slice(Math.max(0, start - 2), start)].at(-1)!);
    const after = kindOf(end >= this.posMax ? " " : String.fromCodePoint(this.src.codePointAt(end)!));
    const left = !after.space && (!after.foreign || before.space || before.punctuation || before.cjk);
    const right = !before.space && (!before.foreign || after.space || after.punctuation || after.cjk);
    return {
      can_open: left && (canSplitWord || !right || before.punctuation),
      can_close: right && (canSplitWord || !left || after.punctuation),
      length: end - start,
    };
  }
}

/** foreign: punctuation of other scripts. */
function kindOf(character: string) {
  const cjk = CJK.test(character);
  const space = SPACE.test(character);
  const punctuation = PUNCTUATION.test(character);
  return { cjk: cjk && !space, space, punctuation, foreign: punctuation && !cjk };
}
