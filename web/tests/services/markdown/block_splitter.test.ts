import type { Tokens } from "marked";
import { describe, expect, it } from "vitest";

import { BlockSplitter } from "../../../src/services/markdown/block_splitter";
import { lex } from "../../../src/services/markdown/render";

const ANSWER = `The first paragraph
goes over two lines.

A heading by its underline
--------------------------

1. one

2. two

   \`\`\`python
   print("in a list")

   print("after a blank line")
   \`\`\`

3. three

* a
* b

| a | b |
|---|---|
| 1 | 2 |

\`\`\`
a fence

with blank lines
\`\`\`

> quoted

The end.`;

const shape = (text: string) => lex(text).filter(({ type }) => type !== "space").map(({ type, raw }) => [type, raw]);

describe("a growing answer", () => {
  it("has the blocks of the whole text at every length", () => {
    const splitter = new BlockSplitter();
    for (let length = 1; length <= ANSWER.length; length++) {
      const text = ANSWER.slice(0, length);
      const blocks = splitter.update(text).map(({ type, raw }) => [type, raw.trimEnd()]);
      expect(blocks).toEqual(shape(text).map(([type, raw]) => [type, raw!.trimEnd()]));
    }
  });

  it("keeps finished blocks", () => {
    const splitter = new BlockSplitter();
    const before = splitter.update("one\n\ntwo\n\nthr");
    const after = splitter.update("one\n\ntwo\n\nthree\n\nfour");
    expect(after.slice(0, 2)).toHaveLength(2);
    expect(after[0]).toBe(before[0]);
    expect(after[1]).toBe(before[1]);
  });

  it("keeps them at its end, unless a link is defined there", () => {
    const splitter = new BlockSplitter();
    const before = splitter.update("one\n\ntwo\n\nthr");
    const after = splitter.finish("one\n\ntwo\n\nthree");
    expect([after[0], after[1]].map((block, index) => block === before[index])).toEqual([true, true]);
    expect(after[2]!.raw).toBe("three");

    const [linked] = splitter.finish("see [it]\n\ntwo\n\n[it]: https://example.org");
    expect((linked as Tokens.Paragraph).tokens.map(({ type }) => type)).toEqual(["text", "link"]);
  });

  it("keeps the blocks of a growing foldable part", () => {
    const splitter = new BlockSplitter();
    const blocks = (text: string) => (splitter.update(text)[0] as Tokens.Blockquote).tokens.filter(({ type }) => type !== "space");
    const before = blocks("<details>\n\none\n\ntw");
    const after = blocks("<details>\n\none\n\ntwo\n\nthr");
    expect(after.map((block, index) => block === before[index])).toEqual([true, false, false]);
  });

  it("keeps the items of a growing list until the list becomes loose", () => {
    const splitter = new BlockSplitter();
    const items = (text: string) => (splitter.update(text)[0] as Tokens.List).items;
    const before = items("- one\n- two\n- thr");
    const after = items("- one\n- two\n- three\n- fo");
    expect(after.map((item, index) => item === before[index])).toEqual([true, true, false, false]);
    const loose = items("- one\n- two\n- three\n\n- four");
    expect(loose.some((item, index) => item === after[index])).toBe(false);
  });

  it("starts again if the text was replaced", () => {
    const splitter = new BlockSplitter();
    splitter.update("one\n\ntwo\n\nthree");
    expect(splitter.update("another\n\ntext").map(({ raw }) => raw)).toEqual(["another", "text"]);
  });
});
