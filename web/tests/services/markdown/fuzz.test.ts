import { expect, it } from "vitest";

import { ANSWER, AROUND, PIECES } from "../../answer_pieces";
import { drawn } from "../../drawn";
import { numbers } from "../../random_numbers";

const IS_FULL = process.env["EBB_TEST_SIZE"] === "full";
const COUNT = IS_FULL ? 5_000 : 60;
const DEPTH = IS_FULL ? 600 : 120;

it("draws any mixture of constructs without an error, and without the loss of a word", () => {
  for (let seed = 0; seed < COUNT; seed++) {
    const next = numbers(seed);
    const words: string[] = [];
    const text = Array.from({ length: 1 + Math.floor(next() * 24) }, () => {
      if (next() < 0.25) return PIECES[Math.floor(next() * PIECES.length)]!;
      words.push(`w${words.length}z`);
      return AROUND[Math.floor(next() * AROUND.length)]!.replace("WORD", words.at(-1)!);
    }).join("");
    const host = drawn(text);
    // Words after the marks of a fence are its language, and no text.
    const languages = (text.match(/(?:`{3}|~{3}).*/g) ?? []).join(" ");
    const shown = new Set(`${host.textContent} ${languages}`.match(/w\d+z/g));
    expect(words.filter((word) => !shown.has(word)), JSON.stringify(text)).toEqual([]);
  }
});

it("draws texts that nest without an end", () => {
  const units = [">", "> ", "- ", "1. ", "* - > ", "*", "**", "_", "[", "![", "<b>", "<details>", "<details>\n", "<div>", "(", "{", "$", "`", "~~", "[^1]: ", "| ", "\\[", "#"];
  for (const unit of units) {
    expect(drawn(`${unit.repeat(DEPTH)}word`).textContent, unit).toContain("word");
    if (IS_FULL) expect(drawn(`${ANSWER}\n\n${unit.repeat(DEPTH)}word`).textContent, unit).toContain("The end.");
  }
  expect(drawn(Array.from({ length: DEPTH }, (_, depth) => `${"  ".repeat(depth)}- a${depth}`).join("\n")).textContent).toContain(`a${DEPTH - 1}`);
});
