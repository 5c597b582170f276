import { expect, it } from "vitest";

import { inlineTokens, parse } from "../../../src/services/markdown/render";

it("all tokens are made without the slow constructor of the package", () => {
  const blocks = parse("# a\n\n> - b\n\n| c |\n|---|\n| d |\n\n<details>\n\ne\n\n</details>\n\n[^1]: f\n", {});
  const texts = inlineTokens({ source: "a **b** [c](d)  \ne `f` ![g](h) <b>i</b> $j$ https://k.test", references: null, notes: null });
  expect(blocks.length + texts.length).toBeGreaterThan(50);
  // The package sets the type last.
  for (const token of [...blocks, ...texts]) expect(Object.keys(token)[0], token.type).toBe("type");
});
