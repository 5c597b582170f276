import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";

import { TIERS } from "../../src/services/tiers";

const SOURCE = resolve(import.meta.dirname, "../../src");
/** The list of tiers and their texts. The generated types of the API are not read. */
const MAY_NAME_A_TIER = ["services/tiers.ts", "i18n/en.ts", "i18n/zh.ts"];

it("names the farthest tier in one module and in the catalogues", () => {
  const name = new RegExp(`\\b${TIERS.at(-1)!.id}\\b`);
  const files = readdirSync(SOURCE, { recursive: true, encoding: "utf-8" }).map((path) => path.replaceAll("\\", "/"));
  const naming = files.filter((path) => /(?<!\.d)\.(?:css|svelte|ts)$/.test(path) && name.test(readFileSync(join(SOURCE, path), "utf-8")));
  expect(naming.filter((path) => !MAY_NAME_A_TIER.includes(path))).toEqual([]);
});

it("has a colour for each tier in the style sheet", () => {
  const [base, tokens] = ["base", "tokens"].map((name) => readFileSync(join(SOURCE, `styles/${name}.css`), "utf-8"));
  for (const { colour } of TIERS) {
    expect(tokens).toContain(`--${colour}:`);
    expect(base).toContain(`background: var(--${colour});`);
  }
});
