import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterEach, describe, expect, it } from "vitest";

import { language } from "../../src/i18n/language.svelte";
import { LANGUAGES } from "../../src/i18n/languages";
import { KNOWN_TIERS, tierOf, tierTexts, tiersOf } from "../../src/services/tiers";

const SOURCE = resolve(import.meta.dirname, "../../src");
/** The list of tiers and their texts. The generated types of the API are not read. */
const MAY_NAME_A_TIER = ["services/tiers.ts", ...Object.keys(LANGUAGES).map((tag) => `i18n/${tag}/page.ts`)];

it.each(["redis", "disk"])("names %s as a tier in one module and in the catalogues", (id) => {
  expect(KNOWN_TIERS.map((tier) => tier.id)).toContain(id);
  const name = new RegExp(`["'\`.]${id}\\b["'\`]?|\\b${id}:`);
  const files = readdirSync(SOURCE, { recursive: true, encoding: "utf-8" }).map((path) => path.replaceAll("\\", "/"));
  const naming = files.filter((path) => /(?<!\.d)\.(?:css|svelte|ts)$/.test(path) && name.test(readFileSync(join(SOURCE, path), "utf-8")));
  expect(naming.filter((path) => !MAY_NAME_A_TIER.includes(path))).toEqual([]);
});

it("has a colour for each tier in the style sheet", () => {
  const [base, tokens] = ["base", "tokens"].map((name) => readFileSync(join(SOURCE, `styles/${name}.css`), "utf-8"));
  for (const { colour } of [...KNOWN_TIERS, tierOf("tape")]) {
    expect(tokens).toContain(`--${colour}:`);
    expect(base).toContain(`background: var(--${colour});`);
  }
});

describe("the tiers of the server", () => {
  const ids = (given: readonly string[]) => tiersOf(given).map(({ id }) => id);

  it("put the known ones first, then the others in their order", () => {
    expect(ids(["tape", "disk", "redis", "far_disk", "device", "cpu"])).toEqual(["device", "cpu", "redis", "disk", "tape", "far_disk"]);
  });

  it("include no tier that the server lacks", () => {
    expect(ids(["disk", "device"])).toEqual(["device", "disk"]);
    expect(ids([])).toEqual([]);
  });
});

describe("an unknown tier", () => {
  afterEach(() => language.choose("en"));

  it("has a colour and a mark of its own", () => {
    const { id, colour, level } = tierOf("tape");
    expect(id).toBe("tape");
    expect(KNOWN_TIERS.filter((tier) => tier.colour === colour || tier.level === level)).toEqual([]);
  });

  it("is named after its id in both languages", async () => {
    expect(tierTexts("tape")).toMatchObject({ name: "Tape", from: "the Tape tier", mark: "Cold: kept in the Tape tier" });
    expect(tierTexts("far_disk").name).toBe("Far disk");
    await language.choose("zh");
    expect(tierTexts("tape")).toMatchObject({ name: "Tape", mark: "冷：保存在 Tape 层中" });
  });
});

describe("the disk", () => {
  afterEach(() => language.choose("en"));

  it("is where the cache survives restarts, in both languages", async () => {
    expect(tierTexts("disk")).toMatchObject({ from: "the disk", mark: "Cold: kept on the disk" });
    expect(tierTexts("disk").offTodo).toMatch(/--disk-kv-size.* survives restarts\.$/);
    expect(tierTexts("redis").offTodo).not.toContain("survives");
    await language.choose("zh");
    expect(tierTexts("disk")).toMatchObject({ name: "磁盘", mark: "冷：保存在磁盘中" });
  });

  it("has a colour and a mark that no other tier has", () => {
    const { colour, level } = tierOf("disk");
    expect(KNOWN_TIERS.filter((tier) => tier.colour === colour || tier.level === level)).toHaveLength(1);
  });

  it("does not change the texts of a known one", () => {
    expect(tierTexts("cpu").name).toBe("CPU memory");
  });
});
