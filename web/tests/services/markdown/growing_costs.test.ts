import MarkdownIt from "markdown-it";
import { expect, it, vi } from "vitest";

import type { Block } from "../../../src/services/markdown/blocks";
import { GrowingPieces } from "../../../src/services/markdown/growing_pieces";
import { GrowingText } from "../../../src/services/markdown/growing_text";
import { parsedLetters } from "../../parsed_letters";

const source = (number: number) => `[^${number}]: Smith, A. (2001).\n`;

it("parses and draws only the end of a long text of emphasis", () => {
  const growing = new GrowingPieces();
  let before: readonly string[] = [];
  for (let units = 100; units <= 5_000; units += 100) {
    const text = { source: "**very** ".repeat(units), references: null, notes: null };
    const { texts } = parsedLetters(() => {
      const pieces = growing.update(text);
      // What the browser lays out again: three segments of 98 units.
      expect(pieces.filter((piece, at) => piece !== before[at]).join("").length, `${units} units`).toBeLessThan(6_500);
      before = pieces;
    });
    expect(texts, `${units} units`).toBeLessThan(6_000);
  }
  expect(before.length).toBeGreaterThan(10);
});

it("parses only the last source of a list of sources", () => {
  const growing = new GrowingText();
  for (let text = "", number = 1; number <= 200; number++) {
    text += source(number);
    const { blocks } = parsedLetters(() => expect(growing.update(text)[0]).toMatchObject({ items: { length: number } }));
    expect(blocks, `source ${number}`).toBeLessThan(3 * source(number).length);
  }
});

it.each([
  ["quote", "", "> quoted\n>\n"],
  ["foldable part", "<details open>\n\n", "folded\n\n"],
  ["item of a list", "- item\n\n", "  more\n\n"],
  ["list", "", "- item\n"],
  ["list of blocks", "", "1. item\n\n   > quoted\n\n"],
  ["quote in an item in a foldable part", "<details>\n\n- item\n\n", "  > quoted\n  >\n"],
  ["footnote", "[^1]: note\n\n", "    more\n\n"],
])("parses only the last blocks of a long %s", (name, before, unit) => {
  const growing = new GrowingText();
  for (let text = before, number = 1; number <= 200; number++) {
    text += unit;
    growing.update(text.slice(0, -1));
    const read = vi.spyOn(MarkdownIt.StateBlock.prototype, "skipEmptyLines");
    growing.update(text);
    expect(read.mock.calls.length, `${name} ${number}`).toBeLessThan(16);
    read.mockRestore();
  }
});

it("parses only the last row of a long table", () => {
  const growing = new GrowingText();
  const row = (number: number) => `| ${number} | **${number % 12}** |\n`;
  for (let text = "| Hour | Change |\n| :--- | ---: |\n", number = 1; number <= 300; number++) {
    text += row(number);
    const { blocks } = parsedLetters(() => expect(growing.update(text)[0]).toMatchObject({ rows: { length: number } }));
    expect(blocks, `row ${number}`).toBeLessThan(100);
  }
});

it("draws only the pieces that show new footnotes", () => {
  const parser = new GrowingText();
  const growing = new GrowingPieces();
  let text = `${Array.from({ length: 1_000 }, (_, number) => `word[^${number}] `).join("")}\n\n`;
  const pieces = () => growing.update((parser.update(text)[0] as Extract<Block, { type: "paragraph" }>).text);
  let before = pieces();
  for (let number = 0; number < 1_000; number += 20) {
    text += Array.from({ length: 20 }, (_, at) => source(number + at)).join("");
    const { texts } = parsedLetters(() => {
      const after = pieces();
      expect(after.filter((piece, at) => piece !== before[at]).length, `source ${number}`).toBeLessThanOrEqual(2);
      before = after;
    });
    // With the first numbers, the paragraph is parsed as a whole, for the places of all its references.
    if (number > 0) expect(texts, `source ${number}`).toBeLessThan(4_000);
  }
  expect(Math.max(...before.map((piece) => piece.match(/<sup/g)!.length))).toBeLessThan(130);
});

const link = (number: number) => `[source ${number}]: https://example.org/${number}\n`;

it("parses only the blocks that use a link, if it is defined after them", () => {
  const growing = new GrowingText();
  let text = Array.from({ length: 300 }, (_, number) => `See [source ${number}] here.\n\n- a [source] and [another ${number}]\n\n`).join("");
  let before = growing.update(text);
  expect(before).toHaveLength(600);
  for (let number = 299; number >= 0; number--) {
    text += link(number);
    const { blocks, texts } = parsedLetters(() => {
      const after = growing.update(text);
      expect([...after.keys()].filter((at) => after[at] !== before[at]), `source ${number}`).toEqual([2 * number]);
      before = after;
    });
    expect(blocks, `source ${number}`).toBeLessThan(text.length - text.indexOf("[source 299]: ") + 200);
    expect(texts, `source ${number}`).toBe(0);
  }
  expect(before).toEqual(new GrowingText().update(text));
});

it("parses and draws only the pieces that use a link, if it is defined after them", () => {
  const parser = new GrowingText();
  const growing = new GrowingPieces();
  let text = `${Array.from({ length: 1_000 }, (_, number) => `word [source ${number}] `).join("")}\n\n`;
  const pieces = () => growing.update((parser.update(text)[0] as Extract<Block, { type: "paragraph" }>).text);
  let before = pieces();
  expect(before.length).toBeGreaterThan(5);
  for (let number = 999; number >= 0; number -= 9) {
    text += link(number);
    const { texts } = parsedLetters(() => {
      const after = pieces();
      expect(after.filter((piece, at) => piece !== before[at]).length, `source ${number}`).toBe(1);
      before = after;
    });
    expect(texts, `source ${number}`).toBeLessThan(12_000);
  }
  expect(before.join("").match(/<a /g)).toHaveLength(112);
});
