import { beforeEach, describe, expect, it } from "vitest";

import { DEFAULT_KEYS } from "../../src/services/browser/shortcuts";
import { Shortcuts } from "../../src/stores/shortcuts.svelte";

describe("Shortcuts", () => {
  beforeEach(() => localStorage.clear());

  it("keeps changed keys until they are reset", () => {
    const shortcuts = new Shortcuts();
    expect([shortcuts.change("new", "Shift+J"), shortcuts.changed]).toEqual([null, true]);
    expect(new Shortcuts().keys).toEqual({ ...DEFAULT_KEYS, new: "Shift+J" });
    shortcuts.reset();
    expect([shortcuts.changed, new Shortcuts().keys]).toEqual([false, DEFAULT_KEYS]);
  });

  it("refuses keys of another shortcut, of the browser and of text fields", () => {
    const shortcuts = new Shortcuts();
    expect(shortcuts.change("new", "K")).toBe("palette");
    expect(shortcuts.change("new", "C")).toBe("occupied");
    expect(shortcuts.change("palette", "K")).toBeNull();
    expect(shortcuts.keys).toEqual(DEFAULT_KEYS);
  });

  it("ignores a store that is broken or names keys twice", () => {
    for (const stored of ["{", "null", "[1]", '{"new": "K"}', '{"new": 7, "live": "C"}']) {
      localStorage.setItem("ebb-shortcuts", stored);
      expect(new Shortcuts().keys).toEqual(DEFAULT_KEYS);
    }
  });
});
