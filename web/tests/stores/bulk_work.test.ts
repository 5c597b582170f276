import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { ApiError } from "../../src/services/api/errors";
import { changeMany, restoreMany } from "../../src/stores/bulk_work";
import { Notices } from "../../src/stores/notices.svelte";
import type { Organizer, Report } from "../../src/stores/organizer.svelte";

const FULL = new ApiError(507, { message: "The disk is full", code: "storage_full" });
const ids = Array.from({ length: 1_200 }, (_, index) => `${index}`);
const said = (count: number) => `${count} chats were archived.`;

let notices: Notices;

beforeEach(() => {
  vi.useFakeTimers();
  notices = new Notices();
});
afterEach(() => {
  notices.dismiss();
  vi.useRealTimers();
});

/** Work in three parts, of which each takes a while. failing: the part that fails. */
function inParts(took: number, failing = 3) {
  return async (report: Report) => {
    for (let part = 0; part < 3; part++) {
      await new Promise((resolve) => setTimeout(resolve, took));
      if (part === failing) throw FULL;
      report(ids.slice(part * 500, (part + 1) * 500));
    }
  };
}

it("shows how far a long change is, and then offers its undo", async () => {
  const undo = vi.fn(() => Promise.resolve());
  const done = changeMany(notices, { total: ids.length, change: inParts(800), undo, said });
  await vi.advanceTimersByTimeAsync(900);
  expect(notices.progress).toBeNull();
  await vi.advanceTimersByTimeAsync(200);
  expect(notices.progress).toEqual({ text: "Chats: 500 of 1,200", done: 500, total: 1_200 });
  await vi.advanceTimersByTimeAsync(600);
  expect(notices.progress).toEqual({ text: "Chats: 1,000 of 1,200", done: 1_000, total: 1_200 });
  await vi.advanceTimersByTimeAsync(1_000);
  expect([await done, notices.progress, notices.current]).toEqual([true, null, "1200 chats were archived."]);
  notices.action!.act();
  expect(undo.mock.calls[0]).toEqual([ids, expect.any(Function)]);
});

it("says how many were changed if a part fails, and offers the undo of these", async () => {
  const undo = vi.fn(() => Promise.resolve());
  const done = changeMany(notices, { total: ids.length, change: inParts(10, 2), undo, said });
  await vi.advanceTimersByTimeAsync(100);
  expect(await done).toBe(false);
  expect(notices.current).toMatch(/^1,000 of 1,200 chats were changed\. .*disk is full/);
  notices.action!.act();
  expect(undo.mock.calls[0]).toEqual([ids.slice(0, 1_000), expect.any(Function)]);
});

it("says that nothing was changed if the first part fails", async () => {
  const done = changeMany(notices, { total: ids.length, change: inParts(10, 0), undo: () => Promise.resolve(), said });
  await vi.advanceTimersByTimeAsync(100);
  expect(await done).toBe(false);
  expect(notices.current).toMatch(/^The chats were not changed\./);
  expect(notices.action).toBeNull();
});

it("says how many were reverted if an undo fails", async () => {
  const undo = (_changed: readonly string[], report: Report) => inParts(10, 1)(report);
  const done = changeMany(notices, { total: ids.length, change: inParts(10), undo, said });
  await vi.advanceTimersByTimeAsync(100);
  await done;
  notices.action!.act();
  await vi.advanceTimersByTimeAsync(100);
  expect(notices.current).toMatch(/^500 of 1,200 chats were changed\./);
  expect(notices.action).toBeNull();
});

it("says how many were restored if a restoring fails", async () => {
  const organizer = { restoreDeleted: (_since: number, report: Report) => inParts(10, 1)(report) } as unknown as Organizer;
  const done = restoreMany(notices, organizer, ids.length);
  await vi.advanceTimersByTimeAsync(100);
  expect(await done).toBe(false);
  expect(notices.current).toMatch(/^500 of 1,200 chats were changed\./);
});
