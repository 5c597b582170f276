import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { Notices } from "../../src/stores/notices.svelte";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it("is dismissed after a while, unless it is held", () => {
  const notices = new Notices();
  notices.show("It was deleted.", { label: "Undo", act: () => undefined });
  notices.hold();
  vi.advanceTimersByTime(60_000);
  expect(notices.current).toBe("It was deleted.");
  notices.release();
  vi.advanceTimersByTime(60_000);
  expect([notices.current, notices.action]).toEqual([null, null]);
});

it("about a chat is dismissed with it, and lists every line for long enough", () => {
  const notices = new Notices();
  notices.showOfChat(["one.png is neither a text file nor a PDF.", "two.png is neither a text file nor a PDF."]);
  vi.advanceTimersByTime(8_000);
  expect(notices.current).toBe("one.png is neither a text file nor a PDF.\ntwo.png is neither a text file nor a PDF.");
  notices.leaveChat();
  expect(notices.current).toBe(null);
  notices.show("The chat was deleted.");
  notices.leaveChat();
  expect(notices.current).toBe("The chat was deleted.");
});
