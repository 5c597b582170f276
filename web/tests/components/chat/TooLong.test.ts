import { flushSync, mount, unmount, type ComponentProps } from "svelte";
import { expect, it, onTestFinished, vi } from "vitest";

import TooLong from "../../../src/components/chat/TooLong.svelte";
import { ApiError } from "../../../src/services/api/errors";

const onleave = vi.fn();

/** Mount the warning with a summary that the test resolves, and return that. */
function open(leavable: number | null, used: number | null = 9_000, onmove: (() => void) | null = null) {
  onleave.mockReset();
  const summary = Promise.withResolvers<string>();
  const onsummarize = vi.fn((_count: number, _signal: AbortSignal, _ontext: (text: string) => void) => summary.promise);
  const props: ComponentProps<typeof TooLong> = {
    used,
    window: 8_192,
    files: [],
    onremove: () => undefined,
    onmove,
    leavable,
    onleave,
    onsummarize,
  };
  const shown = mount(TooLong, { target: document.body, props });
  onTestFinished(() => void unmount(shown));
  flushSync();
  return { summary, onsummarize };
}

function press(name: string): void {
  [...document.querySelectorAll("button")].find(({ textContent }) => textContent.trim() === name)!.click();
  flushSync();
}

it("blames the chat, and not a short message, where both are too long to be counted", () => {
  open(204, null);
  expect(document.querySelector("[role=status]")!.textContent).toContain(
    "With the message, this chat is far longer than the 8,192 tokens that the model reads. Shorten it, or:",
  );
});

it("sends without the first messages", () => {
  open(4);
  press("Send without the first 4 messages");
  expect(onleave).toHaveBeenCalledExactlyOnceWith({ leftOut: 4, summary: null });
});

it("sends with the summary when it is written", async () => {
  const { summary, onsummarize } = open(1);
  press("Summarize the first message");
  expect(onsummarize).toHaveBeenCalledExactlyOnceWith(1, expect.any(AbortSignal), expect.any(Function));
  expect(document.body.textContent).toContain("The model is writing the summary.");
  onsummarize.mock.calls[0]![2]("They spoke");
  flushSync();
  expect(document.body.textContent).toContain("They spoke");
  expect(onleave).not.toHaveBeenCalled();
  summary.resolve("They spoke of tides.");
  await vi.waitFor(() => expect(onleave).toHaveBeenCalledExactlyOnceWith({ leftOut: 1, summary: "They spoke of tides." }));
});

it("sends nothing after a cancelled summary", async () => {
  const { summary, onsummarize } = open(4);
  press("Summarize the first 4 messages");
  press("Cancel");
  expect(onsummarize.mock.calls[0]![1].aborted).toBe(true);
  summary.resolve("They spoke of tides.");
  await summary.promise;
  flushSync();
  expect(onleave).not.toHaveBeenCalled();
  expect(document.body.textContent).toContain("Summarize the first 4 messages");
});

it("shows why there is no summary, with the other ways out", async () => {
  const { summary } = open(4);
  press("Summarize the first 4 messages");
  summary.reject(new ApiError(429, { message: "Too many requests", type: "", code: null, param: null }));
  await vi.waitFor(() => expect(document.querySelector("[role=alert]")).not.toBeNull());
  expect(document.body.textContent).toContain("Send without the first 4 messages");
});

it("offers a new chat where the message fits into it", () => {
  const onmove = vi.fn();
  open(4, 9_000, onmove);
  press("Ask in a new chat");
  expect(onmove).toHaveBeenCalledOnce();
});

it("offers only to shorten a message that is too long by itself", () => {
  open(null, 12_000, () => undefined);
  expect(document.querySelectorAll("button")).toHaveLength(0);
  expect(document.querySelector("[role=status]")!.textContent).toMatch(/fewer than 8,192\. Shorten it\.$/);
});
