import { beforeEach, describe, expect, it, vi } from "vitest";

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

  it("sends with Enter, or with Ctrl and Enter where Enter adds a line", () => {
    const pressed = (fields: KeyboardEventInit = {}) => new KeyboardEvent("keydown", { key: "Enter", ...fields });
    const sent = (shortcuts: Shortcuts) =>
      [pressed(), pressed({ shiftKey: true }), pressed({ ctrlKey: true }), pressed({ metaKey: true }), pressed({ isComposing: true })].map((event) =>
        shortcuts.isSending(event),
      );
    vi.stubGlobal("matchMedia", () => ({ matches: false }));
    const shortcuts = new Shortcuts();
    expect(sent(shortcuts)).toEqual([true, false, true, true, false]);
    expect(shortcuts.sendingKeys()).toEqual(["Enter", "Shift+Enter"]);
    shortcuts.sendWithEnter(false);
    expect(sent(new Shortcuts())).toEqual([false, false, true, true, false]);
    expect(new Shortcuts().sendingKeys()).toEqual(["Ctrl+Enter", "Enter"]);
    shortcuts.sendWithEnter(true);
    vi.stubGlobal("matchMedia", () => ({ matches: true }));
    // A soft keyboard has no Shift+Enter.
    expect(sent(new Shortcuts())).toEqual([false, false, false, false, false]);
  });

  it("ignores a store that is broken or names keys twice", () => {
    for (const stored of ["{", "null", "[1]", '{"new": "K"}', '{"new": 7, "live": "C"}']) {
      localStorage.setItem("ebb-shortcuts", stored);
      expect(new Shortcuts().keys).toEqual(DEFAULT_KEYS);
    }
  });
});
