import { describe, expect, it } from "vitest";

import type { Inline } from "../../../src/services/markdown/blocks";
import { GrowingPieces } from "../../../src/services/markdown/growing_pieces";
import { renderPieces } from "../../../src/services/markdown/render";
import { AROUND, PIECES } from "../../answer_pieces";
import { numbers } from "../../random_numbers";

const references = { A: { href: "https://x.test/a", title: "" } };
const inline = (source: string): Inline => ({ source, references: source.includes("[") ? references : null, notes: null });

const WORDS = ["word ", "a ", "重点。后", "文字", "**b** ", "**b", "** ", "_c_ ", "d_e ", "~~f~~ ", "`g` ", "`", "$h$ ", "$5 ", "\\(i\\) ", "\\( ", "\\*"];
const OTHERS = ["[a] ", "[j](k) ", "[", "](x) ", "<b>l</b> ", "<b>", "</b>", "&amp;", "https://x.test ", "  \n", "\n", "\\\n", "![m](n) ", "(o) "];

describe("the pieces of a growing text", () => {
  it("are those of the whole text, wherever it is cut", () => {
    const count = process.env["EBB_TEST_SIZE"] === "full" ? 4_000 : 400;
    const units = [...WORDS, ...WORDS, ...OTHERS, ...PIECES.filter((piece) => piece.length < 40), ...AROUND];
    let cut = 0;
    for (let seed = 0; seed < count; seed++) {
      const next = numbers(seed);
      const parts = Array.from({ length: 30 }, () => units[Math.floor(next() * units.length)]!);
      const growing = new GrowingPieces(3);
      for (let length = 10; length <= parts.length; length += 5) {
        const text = inline(parts.slice(0, length).join("").replace(/^\s+/, ""));
        const pieces = growing.update(text);
        cut += pieces.length - 1;
        expect(pieces.join(""), JSON.stringify(text.source)).toBe(renderPieces(text).join(""));
      }
    }
    expect(cut).toBeGreaterThan(count);
  });

  it("stay the same objects but for the last ones", () => {
    const growing = new GrowingPieces();
    const text = "**very** much ".repeat(4_000);
    const before = growing.update(inline(text));
    const after = growing.update(inline(`${text}more`));
    expect(before.length).toBeGreaterThan(8);
    expect(after.slice(0, -3)).toEqual(before.slice(0, -3));
    expect(after.at(-1)).toContain("more");
  });

  it("follow a link that is defined later", () => {
    const growing = new GrowingPieces(4);
    const source = "a word [a] and more words ".repeat(4);
    const before = growing.update({ source, references: {}, notes: null });
    expect(before.join("")).not.toContain("<a");
    expect(growing.update({ source, references, notes: null }).join("").match(/<a /g)).toHaveLength(4);
  });
});

describe("a text of many pages in one paragraph", () => {
  const content = (pieces: readonly string[]) => {
    const host = document.createElement("div");
    host.innerHTML = pieces.join("");
    return host.textContent;
  };

  it("is cut after words, and loses none", () => {
    const source = "seven little words of an endless paragraph ".repeat(2_000);
    const pieces = renderPieces(inline(source));
    expect(pieces.length).toBeGreaterThan(4);
    expect(pieces.every((piece) => piece.endsWith(" "))).toBe(true);
    expect(content(pieces)).toBe(source);
    expect(renderPieces(inline("文字。".repeat(9_000))).length).toBeGreaterThan(1);
  });

  it("goes on with what is open where it is cut", () => {
    const source = `**bold [of *all* words](https://x.test/w) ${"and *more* words ".repeat(1_000)}end**`;
    const pieces = renderPieces(inline(source));
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces.every((piece) => piece.startsWith("<strong>") && piece.endsWith("</strong>"))).toBe(true);
    expect(content(pieces)).toBe(source.replaceAll("*", "").replace(/\[(.*)\]\(\S+\)/, "$1"));
  });

  it("is cut within a word of many pages, and within code", () => {
    const word = "0123456789abcdef".repeat(20_000);
    for (const source of [word, `\`${word}\``, "🌊".repeat(60_000)]) {
      const pieces = renderPieces(inline(source));
      expect(pieces.length).toBeGreaterThan(4);
      expect(pieces.every((piece) => piece.length < word.length / 4)).toBe(true);
      expect(content(pieces)).toBe(source.replaceAll("`", ""));
      expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
    }
  });

  it("stays one piece as long as people write it", () => {
    expect(renderPieces(inline("seven little words of a long paragraph. ".repeat(100)))).toHaveLength(1);
    expect(renderPieces(inline("so $x^2$ is **not** `y` ".repeat(30)))).toHaveLength(1);
  });
});
