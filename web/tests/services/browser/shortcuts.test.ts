import { describe, expect, it } from "vitest";

import { DEFAULT_KEYS, isComposing, keysOf, shortcutOf } from "../../../src/services/browser/shortcuts";

describe("shortcuts", () => {
  it("are Ctrl or the command key with a letter of any case", () => {
    const key = (init: KeyboardEventInit) => shortcutOf(new KeyboardEvent("keydown", init), DEFAULT_KEYS);
    expect(key({ key: "k", ctrlKey: true })).toBe("palette");
    expect(key({ key: "K", metaKey: true })).toBe("palette");
    expect(key({ key: "F", ctrlKey: true, shiftKey: true })).toBe("search");
    expect(key({ key: "O", ctrlKey: true, shiftKey: true })).toBe("new");
    expect(key({ key: "L", ctrlKey: true, shiftKey: true })).toBe("live");
    expect(key({ key: "k" })).toBeNull();
    expect(key({ key: "b", ctrlKey: true, shiftKey: true })).toBeNull();
  });

  it("are read from letters of any layout, and from characters with or without Shift", () => {
    const key = (init: KeyboardEventInit) => keysOf(new KeyboardEvent("keydown", { ctrlKey: true, ...init }));
    expect(key({ key: "л", code: "KeyK" })).toBe("K");
    expect(key({ key: "Щ", code: "KeyO", shiftKey: true })).toBe("Shift+O");
    expect(key({ key: "/", code: "Digit7", shiftKey: true })).toBe("/");
    expect([key({ key: "Control" }), key({ key: "k", altKey: true }), key({ key: "ArrowUp" })]).toEqual([null, null, null]);
  });

  it("are off while an input method composes", () => {
    const key = (init: KeyboardEventInit) => new KeyboardEvent("keydown", { key: "k", ctrlKey: true, ...init });
    expect(shortcutOf(key({ isComposing: true }), DEFAULT_KEYS)).toBeNull();
    expect(shortcutOf(key({ keyCode: 229 }), DEFAULT_KEYS)).toBeNull();
    expect([isComposing(key({ isComposing: true })), isComposing(key({ keyCode: 229 })), isComposing(key({}))]).toEqual([true, true, false]);
  });
});
