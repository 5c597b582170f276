import { afterEach, describe, expect, it, vi } from "vitest";

import { afterFrame } from "../../../src/services/sandbox/after_frame";
import { Diagrams } from "../../../src/services/sandbox/diagrams";

afterEach(() => vi.useRealTimers());

describe("afterFrame", () => {
  it("waits for a frame, and not in a hidden page", async () => {
    vi.useFakeTimers();
    let drawn = false;
    void afterFrame().then(() => (drawn = true));
    await Promise.resolve();
    expect(drawn).toBe(false);
    await vi.advanceTimersByTimeAsync(20);
    expect(drawn).toBe(true);

    vi.spyOn(document, "hidden", "get").mockReturnValue(true);
    await afterFrame();
  });
});

describe("Diagrams", () => {
  it("opens waiting previews in frames of their own", async () => {
    vi.useFakeTimers();
    const diagrams = new Diagrams();
    const opened: string[] = [];
    void diagrams.finished().then(() => opened.push("first"));
    void diagrams.finished().then(() => opened.push("second"));
    expect(opened).toEqual([]);
    await vi.advanceTimersByTimeAsync(20);
    expect(opened).toEqual(["first"]);
    await vi.advanceTimersByTimeAsync(20);
    expect(opened).toEqual(["first", "second"]);
  });
});
