import { describe, expect, it } from "vitest";

import { changedLabels, labelsOf, usedBy, type References } from "../../../src/services/markdown/labels";
import { parse, renderPieces } from "../../../src/services/markdown/render";
import { PIECES } from "../../answer_pieces";
import { numbers } from "../../random_numbers";

const LABELS = ["a", "a b", "ß", "x\\*y", "c\\\\", "`d`", "*e*", "^f g", "1", "constructor", "__proto__"];
const USES = [
  ...LABELS.flatMap((label) => [`[${label}]`, `[text][${label}]`, `[${label}][]`, `![${label}]`, `[[${label}]]`, `[${label}](`]),
  ...["[A\nB]", "[ a  b ]", "[ẞ]", "[SS]", "[a", "b]", "]", "[", "\\[a]", "\\\\[a]", "`[a]`", "`\\`[1]", "https://x.test/\\[a]", "<b>[1]</b>", "$[1]$"],
];

/** Read definitions as the page does. */
function definitions(labels: readonly string[]): References {
  const env = { references: {} };
  parse(labels.map((label) => `[${label}]: https://x.test/${LABELS.indexOf(label)} "title"\n\n`).join(""), env);
  return env.references;
}

describe("the labels of a text", () => {
  const all = definitions(LABELS);

  it("are those whose definitions change how it reads", () => {
    expect(Object.keys(all)).toHaveLength(LABELS.length);
    const count = process.env["EBB_TEST_SIZE"] === "full" ? 20_000 : 2_000;
    for (let seed = 0; seed < count; seed++) {
      const next = numbers(seed);
      const units = [...USES, ...USES, ...PIECES, " ", "\n", "word"];
      const source = Array.from({ length: 6 }, () => units[Math.floor(next() * units.length)]).join("");
      const rendered = (references: References | null) => renderPieces({ source, references, notes: null }).join("");
      expect(rendered(usedBy(source, all)), JSON.stringify(source)).toBe(rendered(all));
    }
  });

  it("are few", () => {
    expect(labelsOf("See [a], [text][A  b] and [[c]], but not [d [e")).toEqual(["A", "TEXT", "A B", "C"]);
    expect(usedBy("See [a] and [b].", all)).toEqual({ A: all["A"] });
    expect([usedBy("See [b].", all), usedBy("No label.", all), usedBy("See [a].", {}), usedBy("See [a].", null)]).toEqual([null, null, null, null]);
  });

  it("may be all of them after a backslash", () => {
    expect(usedBy("\\[a]", all)).toEqual(all);
  });
});

it("finds the definitions that are new, gone or different", () => {
  const [before, after] = [definitions(["a", "1", "ß"]), { ...definitions(["a", "^f g"]), 1: { href: "https://x.test/other", title: "title" } }];
  expect([...changedLabels(before, after)].sort()).toEqual(["", "1", "SS", "^F G"]);
  expect(changedLabels(before, definitions(["ß", "1", "a"]))).toEqual([]);
});
