import { afterEach, describe, expect, it } from "vitest";

import { en as accountEn } from "../../src/i18n/account/en";
import { zh as accountZh } from "../../src/i18n/account/zh";
import { en as answersEn } from "../../src/i18n/answers/en";
import { zh as answersZh } from "../../src/i18n/answers/zh";
import { en as dialogsEn } from "../../src/i18n/dialogs/en";
import { zh as dialogsZh } from "../../src/i18n/dialogs/zh";
import { en } from "../../src/i18n/en";
import { en as filesEn } from "../../src/i18n/files/en";
import { zh as filesZh } from "../../src/i18n/files/zh";
import { language } from "../../src/i18n/language.svelte";
import { en as liveEn } from "../../src/i18n/live/en";
import { zh as liveZh } from "../../src/i18n/live/zh";
import { en as organizeEn } from "../../src/i18n/organize/en";
import { zh as organizeZh } from "../../src/i18n/organize/zh";
import { en as markdownEn } from "../../src/i18n/markdown/en";
import { zh as markdownZh } from "../../src/i18n/markdown/zh";
import { en as receiptEn } from "../../src/i18n/receipt/en";
import { zh as receiptZh } from "../../src/i18n/receipt/zh";
import { en as paletteEn } from "../../src/i18n/palette/en";
import { zh as paletteZh } from "../../src/i18n/palette/zh";
import { zh } from "../../src/i18n/zh";
import { describeReceipt } from "../../src/services/chat/receipt_details";
import { monthName } from "../../src/services/format/dates";

afterEach(() => language.choose("en"));

describe("the catalogue", () => {
  it.each([
    { view: "page", english: en, chinese: zh, alike: ["tiers.redis.name", "tiers.redis.short"] },
    { view: "answers", english: answersEn, chinese: answersZh, alike: [] },
    { view: "dialogs", english: dialogsEn, chinese: dialogsZh, alike: [] },
    { view: "organize", english: organizeEn, chinese: organizeZh, alike: [] },
    { view: "files", english: filesEn, chinese: filesZh, alike: [] },
    { view: "receipt", english: receiptEn, chinese: receiptZh, alike: [] },
    { view: "account", english: accountEn, chinese: accountZh, alike: [] },
    { view: "palette", english: paletteEn, chinese: paletteZh, alike: [] },
    { view: "markdown", english: markdownEn, chinese: markdownZh, alike: [] },
    { view: "live", english: liveEn, chinese: liveZh, alike: [] },
  ])("of the $view has every text in Chinese", ({ english, chinese, alike }) => {
    const translated = new Map(leaves(chinese));
    const same = leaves(english).filter(([path, text]) => /[a-z]{4}/i.test(text) && translated.get(path) === text);
    expect(same.map(([path]) => path)).toEqual(alike);
    expect([...translated.keys()]).toEqual(leaves(english).map(([path]) => path));
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
