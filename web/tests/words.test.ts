import { afterEach, describe, expect, it } from "vitest";

import { en } from "../src/i18n/en";
import { language } from "../src/i18n/language.svelte";
import { zh } from "../src/i18n/zh";
import { ApiError, describe as describeError } from "../src/services/api/errors";
import { composing, shortcutOf } from "../src/services/browser/shortcuts";
import { monthName } from "../src/services/format/dates";
import { receiptWords } from "../src/services/format/numbers";

afterEach(() => language.choose("en"));

describe("the catalogue", () => {
  it("has every sentence in Chinese, none of them left in English", () => {
    const same = leaves(en).filter(([path, text]) => /[a-z]{4}/i.test(text) && leaves(zh).some(([p, t]) => p === path && t === text));
    expect(same.map(([path]) => path)).toEqual(["receipt.names.redis"]);
    expect(leaves(zh).map(([path]) => path)).toEqual(leaves(en).map(([path]) => path));
  });

  it("speaks the language that was chosen, in numbers as well", () => {
    language.choose("zh");
    const kv = { device: 0, cpu: 0, redis: 1920, computed: 90, restore_ms: 38 };
    expect(receiptWords(kv)).toBe("2,010 个 token 中 1,920 个来自 Redis");
    expect(monthName("2026-03", new Date("2026-08-01T12:00"))).toBe("三月");
  });
});

describe("what the server refuses", () => {
  const refused = (status: number, code: string | null) => describeError(new ApiError(status, { message: "Said by the server", code, param: null, type: "" })).what;

  it("is said in the page's language where it has words for it", () => {
    expect(refused(429, null)).toBe("Said by the server.");
    language.choose("zh");
    expect(refused(429, null)).toBe("服务器现在太忙。");
    expect(refused(409, "head_moved")).toBe("与此同时，这个对话中发送了另一条消息。");
    expect(refused(400, "new_code")).toBe("Said by the server.");
  });
});

describe("shortcuts", () => {
  it("are Ctrl or the command key with a letter, whatever its case", () => {
    const key = (init: KeyboardEventInit) => shortcutOf(new KeyboardEvent("keydown", init));
    expect(key({ key: "k", ctrlKey: true })).toBe("search");
    expect(key({ key: "K", metaKey: true })).toBe("search");
    expect(key({ key: "O", ctrlKey: true, shiftKey: true })).toBe("new");
    expect(key({ key: "L", ctrlKey: true, shiftKey: true })).toBe("live");
    expect(key({ key: "k" })).toBeNull();
    expect(key({ key: "b", ctrlKey: true, shiftKey: true })).toBeNull();
  });

  it("belong to an input method while it writes a word", () => {
    const key = (init: KeyboardEventInit) => new KeyboardEvent("keydown", { key: "k", ctrlKey: true, ...init });
    expect(shortcutOf(key({ isComposing: true }))).toBeNull();
    expect(shortcutOf(key({ keyCode: 229 }))).toBeNull();
    expect([composing(key({ isComposing: true })), composing(key({ keyCode: 229 })), composing(key({}))]).toEqual([true, true, false]);
  });
});

function leaves(value: object, at = ""): [string, string][] {
  return Object.entries(value).flatMap(([name, inner]) => {
    const path = at === "" ? name : `${at}.${name}`;
    return typeof inner === "object" ? leaves(inner as object, path) : [[path, String(inner)] as [string, string]];
  });
}
