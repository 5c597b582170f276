import { describe, expect, it } from "vitest";

import { isComposing, shortcutOf } from "../../../src/services/browser/shortcuts";

describe("shortcuts", () => {
  it("are Ctrl or the command key with a letter of any case", () => {
    const key = (init: KeyboardEventInit) => shortcutOf(new KeyboardEvent("keydown", init));
    expect(key({ key: "k", ctrlKey: true })).toBe("palette");
    expect(key({ key: "K", metaKey: true })).toBe("palette");
    expect(key({ key: "F", ctrlKey: true, shiftKey: true })).toBe("search");
    expect(key({ key: "O", ctrlKey: true, shiftKey: true })).toBe("new");
    expect(key({ key: "L", ctrlKey: true, shiftKey: true })).toBe("live");
    expect(key({ key: "k" })).toBeNull();
    expect(key({ key: "b", ctrlKey: true, shiftKey: true })).toBeNull();
  });

  it("are off while an input method composes", () => {
    const key = (init: KeyboardEventInit) => new KeyboardEvent("keydown", { key: "k", ctrlKey: true, ...init });
    expect(shortcutOf(key({ isComposing: true }))).toBeNull();
    expect(shortcutOf(key({ keyCode: 229 }))).toBeNull();
    expect([isComposing(key({ isComposing: true })), isComposing(key({ keyCode: 229 })), isComposing(key({}))]).toEqual([true, true, false]);
  });
});
