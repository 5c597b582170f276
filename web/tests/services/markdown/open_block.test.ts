import type { Tokens } from "marked";
import { describe, expect, it } from "vitest";

import { BlockSplitter } from "../../../src/services/markdown/block_splitter";
import { lex } from "../../../src/services/markdown/render";

const PIECES = [
  "Text before it:\n", "Text.\n\n", "\n", "\n\n", "- item\n", "> quoted\n", "# Heading\n", "<div>\n", "---\n",
  "```python\n", "```\n", "````\n", "~~~\n", "``", "   ```\n", "x = 1\n", "  indented\n", "\n  \n", "a ``` b\n",
  "| a | b |\n", "|---|--:|\n", "| 1 | *2* |\n", "| 3 `|` \n", "1 | 2\n", "|", "a: b\n",
  "<details>\n", "</details>\n", "<summary>s</summary>\n", "[^1]: note\n", "    more\n", "see[^1] <kbd>x</kbd>\n",
];

/** Return a generator of numbers from 0 to 1, determined by its seed (mulberry32). */
function numbers(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Return the drawn part of blocks, without blank ends. */
const shape = (blocks: readonly { type: string; raw: string }[]) =>
  blocks.filter(({ type }) => type !== "space").map(({ raw, ...rest }) => ({ ...rest, raw: raw.trimEnd() }));

describe("growing code and tables", () => {
  it("equal the blocks of the whole text at every length", () => {
    for (let seed = 0; seed < 90; seed++) {
      const next = numbers(seed);
      const text = Array.from({ length: 14 }, () => PIECES[Math.floor(next() * PIECES.length)]).join("");
      const splitter = new BlockSplitter();
      for (let length = 1; length <= text.length; length += 1 + Math.floor(next() * 4)) {
        const grown = text.slice(0, length);
        expect(shape(splitter.update(grown)), JSON.stringify(grown)).toEqual(shape(lex(grown)));
      }
    }
  });

  it("keep the result of earlier lines", () => {
    const splitter = new BlockSplitter();
    const rows = (text: string) => (splitter.update(text)[0] as Tokens.Table).rows;
    rows("| a |\n|---|\n| 1 |\n| 2 |\n| 3");
    const before = rows("| a |\n|---|\n| 1 |\n| 2 |\n| 3 |\n");
    const after = rows("| a |\n|---|\n| 1 |\n| 2 |\n| 3 |\n\nThe end.");
    expect(after.map((row, index) => row === before[index])).toEqual([true, true, false]);
  });
});
