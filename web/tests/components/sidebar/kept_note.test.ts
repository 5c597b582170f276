import { expect, it } from "vitest";

import { keptNote } from "../../../src/components/sidebar/kept_note";
import type { PromisedChat } from "../../../src/services/api/types";

function note(fields: Partial<PromisedChat>): string {
  return keptNote({ tokens: 128, declined: 0, bytes: 3 << 20, reason: null, ...fields });
}

it("says how much of a pinned chat is kept", () => {
  expect(note({})).toMatch(/^Cache kept on the disk \(3.MiB\)$/u);
});

it("says why a pinned chat is not kept", () => {
  const nothing = { tokens: 0, bytes: 0 } as const;
  expect(note({ reason: "reservation_full", declined: 64 })).toMatch(/3.MiB\. The space reserved for you is full/u);
  expect(note({ ...nothing, reason: "no_reservation" })).toContain("no space is reserved");
  expect(note({ ...nothing, reason: "not_computed" })).toContain("from the next answer on");
  expect(note({ ...nothing, reason: "disk_away" })).toContain("the disk is not available");
});
