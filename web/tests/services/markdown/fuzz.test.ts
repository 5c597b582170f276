import { expect, it } from "vitest";

import { ANSWER, PIECES } from "../../answer_pieces";
import { drawn } from "../../drawn";
import { numbers } from "../../random_numbers";

const COUNT = process.env["EBB_TEST_SIZE"] === "full" ? 5_000 : 120;

/** Constructs around a word, some without their end. The word is in a place that a reader sees. */
const AROUND: readonly ((word: string) => string)[] = [
  ...["", "- ", "1. ", "> ", "# ", "    ", "\t", "- [x] ", "* ", "> - ", "[^1]: ", "[^2]: ", "| ", "<details>\n", "<summary>", "<div>\n", "$$\n", "\\[\n", "```\n"].map(
    (before) => (word: string) => `${before}${word}\n`,
  ),
  ...["**", "*", "_", "~~", "`", "``", "$", "$$", "|", "***", "\\", "<", "&", "![", "[", "(", "\n\n"].map((mark) => (word: string) => `${mark}${word}${mark} `),
  ...["<b>", "<sub>", "<kbd>", "<a href=https://x.test>", "<details>", "<p>", "<table><tr><td>", "<script>", "<!-- ", "<button>", "<br>"].map(
    (tag) => (word: string) => `${tag}${word}${tag.replace("<", "</").replace(/ .*>/, ">")} `,
  ),
  (word) => `[${word}](https://x.test) `,
  (word) => `[${word}](x "y") `,
  (word) => `![${word}](https://x.test/a.png) `,
  (word) => `<img src=x alt="${word}"> `,
  (word) => `${word}[^1] `,
  (word) => `[${word}][a] `,
  (word) => `| ${word} | b |\n|---|---|\n`,
  (word) => `| ${word} |\n`,
  (word) => `\\(${word}\\) `,
  (word) => `\\[${word} = 1\\]\n`,
  (word) => `**${word}。**后`,
  (word) => `https://x.test/${word} `,
];

it("draws any mixture of constructs without an error, and without the loss of a word", () => {
  for (let seed = 0; seed < COUNT; seed++) {
    const next = numbers(seed);
    const words: string[] = [];
    const text = Array.from({ length: 1 + Math.floor(next() * 24) }, () => {
      if (next() < 0.25) return PIECES[Math.floor(next() * PIECES.length)]!;
      words.push(`w${words.length}z`);
      return AROUND[Math.floor(next() * AROUND.length)]!(words.at(-1)!);
    }).join("");
    const host = drawn(text);
    const shown = new Set(host.textContent.match(/w\d+z/g));
    expect(words.filter((word) => !shown.has(word)), JSON.stringify(text)).toEqual([]);
  }
});

it("draws texts that nest without an end", () => {
  const units = [">", "> ", "- ", "1. ", "* - > ", "*", "**", "_", "[", "![", "<b>", "<details>", "<details>\n", "<div>", "(", "{", "$", "`", "~~", "[^1]: ", "| ", "\\[", "#"];
  for (const unit of units) {
    expect(drawn(`${unit.repeat(600)}word`).textContent, unit).toContain("word");
    expect(drawn(`${ANSWER}\n\n${unit.repeat(600)}word`).textContent, unit).toContain("The end.");
  }
  expect(drawn(Array.from({ length: 300 }, (_, depth) => `${"  ".repeat(depth)}- a${depth}`).join("\n")).textContent).toContain("a299");
});
