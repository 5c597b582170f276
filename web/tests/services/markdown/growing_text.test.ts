import { describe, expect, it } from "vitest";

import type { Block } from "../../../src/services/markdown/blocks";
import { GrowingText } from "../../../src/services/markdown/growing_text";
import { ANSWER, PIECES } from "../../answer_pieces";
import { numbers } from "../../random_numbers";

const fresh = (text: string) => new GrowingText().update(text);

describe("a growing answer", () => {
  it("has the blocks of the whole text at every length", () => {
    const growing = new GrowingText();
    for (let length = 1; length <= ANSWER.length; length++) {
      const text = ANSWER.slice(0, length);
      expect(growing.update(text), JSON.stringify(text)).toEqual(fresh(text));
    }
  });

  it("has them in any order of the parts", () => {
    const count = process.env["EBB_TEST_SIZE"] === "full" ? 2_000 : 40;
    for (let seed = 0; seed < count; seed++) {
      const next = numbers(seed);
      const text = Array.from({ length: 16 }, () => PIECES[Math.floor(next() * PIECES.length)]).join("");
      const growing = new GrowingText();
      for (let length = 1; length <= text.length; length += 1 + Math.floor(next() * 4)) {
        const grown = text.slice(0, length);
        expect(growing.update(grown), JSON.stringify(grown)).toEqual(fresh(grown));
      }
    }
  });

  it("has the blocks within containers, in any order of the lines", () => {
    const begins = ["", "", "> ", ">", "> > ", "- ", "- ", "* ", "  ", "  ", "    ", "1. ", "2. ", "   ", "> - ", ">   ", "[^1]: "];
    const folds = ["<details>", "<details open><summary>a</summary>", "</details>", "<summary>b</summary>"];
    const texts = ["", "", "", "a", "b c", "**d** [x]", "[x]: https://x.test", "```", "$$", "\\[", "\\]", "| e | f |", "|---|---|", "# g", "---", "[ ] h", "<div>", ...folds];
    const count = process.env["EBB_TEST_SIZE"] === "full" ? 1_000 : 40;
    for (let seed = 0; seed < count; seed++) {
      const next = numbers(seed);
      const one = (list: readonly string[]) => list[Math.floor(next() * list.length)]!;
      // Lines of the same beginnings follow each other.
      const own = Array.from({ length: 4 }, () => one(begins));
      const text = Array.from({ length: 24 }, () => `${one(own)}${one(texts)}\n`).join("");
      const growing = new GrowingText();
      for (let length = 1; length <= text.length; length += 1 + Math.floor(next() * 6)) {
        const grown = text.slice(0, length);
        expect(growing.update(grown), JSON.stringify(grown)).toEqual(fresh(grown));
      }
    }
  });

  it("has text after a foldable part on its last line", () => {
    const text = "<details>one</details> two\n\nthree\n\nfour\n";
    const growing = new GrowingText();
    for (let length = 1; length <= text.length; length++) {
      expect(growing.update(text.slice(0, length)), text.slice(0, length)).toEqual(fresh(text.slice(0, length)));
    }
    expect(fresh("<details>one</details>     code\n[^1]: note\ntwo\n")).toHaveLength(3);
  });

  it("keeps finished blocks, and those whose text is unchanged", () => {
    const growing = new GrowingText();
    const before = growing.update("one\n\n# two\n\n- three\n- fo");
    const after = growing.update("one\n\n# two\n\n- three\n- four\n- five");
    expect(after.slice(0, 2).map((block, index) => block === before[index])).toEqual([true, true]);
    const items = ([before, after] as const).map((blocks) => (blocks[2] as Extract<Block, { type: "list" }>).items);
    expect(items[1]![0]).toBe(items[0]![0]);
    expect(items[1]![1]).not.toBe(items[0]![1]);
  });

  it("keeps the rows of a growing table, and the blocks of a foldable part", () => {
    const growing = new GrowingText();
    const rows = (text: string) => (growing.update(text)[0] as Extract<Block, { type: "table" }>).rows;
    const [before, after] = [rows("| a |\n|---|\n| 1 |\n| 2 |\n| 3"), rows("| a |\n|---|\n| 1 |\n| 2 |\n| 3 |\n| 4 |")];
    expect(after.map((row, index) => row === before[index])).toEqual([true, true, true, false]);
    const parts = (text: string) => (growing.update(text)[0] as Extract<Block, { type: "details" }>).blocks;
    const [first, second] = [parts("<details>\n\none\n\ntw"), parts("<details>\n\none\n\ntwo\n\nthr")];
    expect(second.map((part, index) => part === first[index])).toEqual([true, false, false]);
  });

  it("has the rows of the whole table at every length, and what follows them", () => {
    const rows = "| a | b |\n|---|:-:|\n| 1 | [x] |\n| 2 |\n| 3 | `|` | 4 |\n";
    for (const end of ["no bar\n| 5 |\n\nText.\n", "\n- item\n", "> quote\n", "$$x\ny$$\n| 6 |\n", "| 7 |\n\n[x]: https://example.org\n", "| 8"]) {
      const growing = new GrowingText();
      const text = `Before\n\n${rows}${end}`;
      for (let length = 1; length <= text.length; length++) {
        expect(growing.update(text.slice(0, length)), JSON.stringify(text.slice(0, length))).toEqual(fresh(text.slice(0, length)));
      }
    }
  });

  it("keeps blocks that a later definition does not change", () => {
    const growing = new GrowingText();
    const before = growing.update("see [it]\n\ntwo [^1]\n\nthree\n\nfour");
    const after = growing.update("see [it]\n\ntwo [^1]\n\nthree\n\nfour\n\n[it]: https://example.org\n[^1]: note\n");
    expect(after.map((block, index) => block === before[index])).toEqual([false, false, true, true, false]);
    expect(after.at(-1)).toMatchObject({ type: "footnotes", items: [{ label: "1", references: 1 }] });
  });

  it("has links that are defined after the blocks that use them, in any order", () => {
    const uses = [
      ...["See [a] and [text][B].\n\n", "## Head [c]\n\n", "- [ ] task [a]\n- item\n\n  [d][]\n\n", "> quoted [b]\n> - ![c]\n\n"],
      ...["| [a] | b |\n|---|---|\n| 1 | [d] |\n| \\[x] | [e\nf] |\n\n", "<details><summary>[b]</summary>\n\n[a]\n\n</details>\n\n"],
      ...["[^1] and [^2] in [c]\n\n", "[^1]: note [d]\n\n", "```\n[a]\n```\n\n", "\\[b] [e\n f] [unknown]\n\n", "[x]\n\n"],
    ];
    const definitions = [
      ...["[e f]: https://x.test/e\n", "[d]: https://x.test/d 'title'\n\n", "[c]: https://x.test/c\nand a text\n\n", "[c]: <https://x.test/c>\n"],
      ...["[b]: https://x.test/b (no\n\ntitle)\n\n", "[b]: https://x.test/b\n", "[a]: https://x.test/a junk\n\n", "> [a]: https://x.test/quoted\n\n", "[a]: https://x.test/late\n"],
    ];
    const whole = [...uses, ...definitions, "[^2]: last [a]\n\nThe end [a].\n"].join("");
    const growing = new GrowingText();
    for (let length = 1; length <= whole.length; length++) {
      expect(growing.update(whole.slice(0, length)), JSON.stringify(whole.slice(0, length))).toEqual(fresh(whole.slice(0, length)));
    }
    const count = process.env["EBB_TEST_SIZE"] === "full" ? 400 : 40;
    for (let seed = 0; seed < count; seed++) {
      const next = numbers(seed);
      const parts = [...uses, ...definitions, ...definitions];
      const text = Array.from({ length: 12 }, () => parts[Math.floor(next() * parts.length)]).join("");
      const growing = new GrowingText();
      for (let length = 1; length <= text.length; length += 1 + Math.floor(next() * 8)) {
        const grown = text.slice(0, length);
        expect(growing.update(grown), JSON.stringify(grown)).toEqual(fresh(grown));
      }
    }
  });

  it("has links in the rows of a table that are defined at once after it", () => {
    const growing = new GrowingText();
    const table = "| a |\n|---|\n| [x] |\n| 2 |\n| [y] |\n| 4 ";
    growing.update(table);
    const text = `${table}|\n\n[x]: https://example.org\n`;
    expect(growing.update(text)).toEqual(fresh(text));
    expect(growing.update(text)[0]).toMatchObject({ rows: [[{ references: { X: { href: "https://example.org" } } }], {}, [{ references: null }], {}] });
  });

  it("starts again if the text was replaced", () => {
    const growing = new GrowingText();
    growing.update("one\n\ntwo\n\nthree");
    expect(growing.update("another\n\ntext")).toEqual(fresh("another\n\ntext"));
  });
});
