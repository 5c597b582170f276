import { createRawSnippet, flushSync, mount, unmount } from "svelte";
import { beforeEach, expect, it, onTestFinished, vi } from "vitest";

import Thread from "../../../src/components/chat/Thread.svelte";

/** Callbacks of the observers of sizes. */
let resized: (() => void)[];

beforeEach(() => {
  resized = [];
  vi.stubGlobal(
    "ResizeObserver",
    class {
      constructor(callback: () => void) {
        resized.push(callback);
      }
      observe() {}
      disconnect() {}
    },
  );
  Element.prototype.scrollIntoView = () => undefined;
});

/** Show a message in a screen of 100 px. height: of the content. Return the functions that change it and that find the button. */
function shown(height: number, complete = true, onend = () => undefined as void) {
  const children = createRawSnippet(() => ({ render: () => `<article data-message="1">Tides</article>` }));
  const thread = mount(Thread, { target: document.body, props: { follows: true, complete, onend, children } });
  onTestFinished(() => void unmount(thread));
  flushSync();
  const scroller = document.querySelector("[data-scroller]")!;
  vi.spyOn(scroller, "clientHeight", "get").mockReturnValue(100);
  const content = vi.spyOn(scroller, "scrollHeight", "get").mockReturnValue(height);
  thread.show("1");
  flushSync();
  return { content, jump: () => document.querySelector("button") };
}

it("offers no way to the end of a chat that fits", () => {
  expect(shown(80).jump()).toBeNull();
});

it("offers the way to the end until the chat fits", () => {
  const { content, jump } = shown(400);
  expect(jump()?.textContent.trim()).toBe("Jump to the latest message");
  content.mockReturnValue(80);
  for (const callback of resized) callback();
  flushSync();
  expect(jump()).toBeNull();
});

it("asks for the end of a chat whose middle is shown, however short that is", () => {
  const asked = vi.fn();
  const { jump } = shown(80, false, asked);
  expect(jump()).not.toBeNull();
  jump()!.click();
  expect(asked).toHaveBeenCalledOnce();
});
