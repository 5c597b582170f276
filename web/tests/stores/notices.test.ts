import { beforeEach, expect, it, vi } from "vitest";

import { Notices } from "../../src/stores/notices.svelte";

beforeEach(() => vi.useFakeTimers());

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

it("about a chat is shown only there, and lists every line for long enough", () => {
  const notices = new Notices();
  notices.enter("conv_1");
  notices.show("one.png is no text.\ntwo.png is no text.", null, { id: "conv_1" });
  vi.advanceTimersByTime(8_000);
  expect(notices.current).toBe("one.png is no text.\ntwo.png is no text.");
  notices.enter("conv_2");
  expect(notices.current).toBe(null);

  notices.show("three.png is no text.", null, { id: "conv_1" });
  expect(notices.current).toBe(null);
  notices.enter("conv_1");
  expect(notices.current).toBe("three.png is no text.");
  notices.show("The chat was deleted.");
  notices.enter("conv_2");
  expect(notices.current).toBe("The chat was deleted.");
});
