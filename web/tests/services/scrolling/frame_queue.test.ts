import { describe, expect, it, vi } from "vitest";

import { FrameQueue } from "../../../src/services/scrolling/frame_queue";

function at(top: number): Element {
  const element = document.createElement("div");
  element.getBoundingClientRect = () => ({ top, bottom: top + 100 }) as DOMRect;
  return element;
}

describe("the queue of work per frame", () => {
  it("runs one task per frame, the nearest first, without removed ones", () => {
    const frames: (() => void)[] = [];
    vi.stubGlobal("requestAnimationFrame", (frame: () => void) => frames.push(frame));
    const queue = new FrameQueue();
    const done: string[] = [];
    const gone = at(300);
    for (const [name, element] of [["far", at(5_000)], ["near", at(200)], ["above", at(-2_000)], ["gone", gone]] as const) {
      queue.add(element, () => done.push(name));
    }
    queue.remove(gone);
    const seen = Array.from({ length: 4 }, () => (frames.shift()?.(), [...done]));
    expect(seen).toEqual([["near"], ["near", "above"], ["near", "above", "far"], ["near", "above", "far"]]);
    vi.unstubAllGlobals();
  });
});
