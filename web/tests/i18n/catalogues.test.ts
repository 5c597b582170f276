import { afterEach, describe, expect, it } from "vitest";

import { en } from "../../src/i18n/en";
import { language } from "../../src/i18n/language.svelte";
import { zh } from "../../src/i18n/zh";
import { describeReceipt } from "../../src/services/chat/receipt";
import { monthName } from "../../src/services/format/dates";

afterEach(() => language.choose("en"));

describe("the catalogue", () => {
  it("has every text in Chinese", () => {
    const same = leaves(en).filter(([path, text]) => /[a-z]{4}/i.test(text) && leaves(zh).some(([p, t]) => p === path && t === text));
    expect(same.map(([path]) => path)).toEqual(["tiers.redis.name", "tiers.redis.short"]);
    expect(leaves(zh).map(([path]) => path)).toEqual(leaves(en).map(([path]) => path));
  });

  it("uses the chosen language, in numbers as well", async () => {
    await language.choose("zh");
    const kv = { device: 0, cpu: 0, redis: 1920, computed: 90, restore_ms: 38 };
    expect(describeReceipt(kv)).toBe("2,010 个 token 中 1,920 个来自 Redis");
    expect(monthName("2026-03", new Date("2026-08-01T12:00"))).toBe("三月");
  });
});

function leaves(value: object, at = ""): [string, string][] {
  return Object.entries(value).flatMap(([name, inner]) => {
    const path = at === "" ? name : `${at}.${name}`;
    return typeof inner === "object" ? leaves(inner as object, path) : [[path, String(inner)] as [string, string]];
  });
}
