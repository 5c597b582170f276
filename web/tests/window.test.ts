import { describe, expect, it } from "vitest";

import { MessageWindow } from "../src/stores/window.svelte";

describe("the messages of a long chat that are drawn", () => {
  it("are all of a short one", () => {
    expect(new MessageWindow(() => 20).from).toBe(0);
  });

  it("are the last ones, more as they are looked for, and at once up to one that is named", () => {
    const shown = new MessageWindow(() => 2_000);
    expect(shown.from).toBe(1_980);
    shown.reveal();
    expect(shown.from).toBe(1_978);
    shown.revealTo(1_001);
    expect(shown.from).toBe(1_000);
    shown.reset();
    expect(shown.from).toBe(1_980);
  });
});
