import { flushSync, mount, unmount } from "svelte";
import { expect, it, vi } from "vitest";

import Host from "./Host.svelte";

it("redraws a growing text at most 30 times a second, and its end at once", () => {
  let frames: FrameRequestCallback[] = [];
  vi.stubGlobal("requestAnimationFrame", (frame: FrameRequestCallback) => frames.push(frame));
  const props = $state({ texts: [""], writing: true });
  const host = mount(Host, { target: document.body, props });
  const shown = () => document.querySelector(".markdown")!.textContent.trim();
  const passFrame = (now: number) => {
    const due = frames;
    frames = [];
    for (const frame of due) frame(now);
    flushSync();
  };
  const grow = (text: string) => {
    props.texts = [text];
    flushSync();
  };
  flushSync();
  passFrame(1_000);

  grow("one");
  passFrame(1_017);
  expect(shown()).toBe("");
  grow("one two");
  passFrame(1_033);
  expect(shown()).toBe("one two");

  grow("one two three");
  passFrame(1_050);
  expect(shown()).toBe("one two");
  props.writing = false;
  flushSync();
  expect(shown()).toBe("one two three");

  void unmount(host);
  vi.unstubAllGlobals();
});
