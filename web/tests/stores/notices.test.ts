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
