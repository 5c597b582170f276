import { expect, it } from "vitest";

import { keptNote } from "../../../src/components/sidebar/kept_note";
import type { PromisedChat } from "../../../src/services/api/types";

const NOW = new Date("2026-03-02T15:00");
const since = new Date("2026-03-02T09:30").getTime() / 1_000;

function note(fields: Partial<PromisedChat>): string {
  return keptNote({ tokens: 128, declined: 0, bytes: 3 << 20, since, reason: null, ...fields }, NOW);
}

it("says how much of a pinned chat is kept, and since when", () => {
  expect(note({})).toMatch(/^KV kept: 3.MiB, since 9:30/u);
});

it("says why a pinned chat is not kept", () => {
  const nothing = { tokens: 0, bytes: 0, since: null } as const;
  expect(note({ reason: "reservation_full", declined: 64 })).toMatch(/3.MiB\. The space reserved for you is full/u);
  expect(note({ ...nothing, reason: "no_reservation" })).toContain("no space is reserved");
  expect(note({ ...nothing, reason: "not_computed" })).toContain("from the next answer on");
  expect(note({ ...nothing, reason: "disk_away" })).toContain("the disk is not available");
});
