import { expect, it } from "vitest";

import { Chunks } from "../../../src/services/markdown/chunks";

it("a chunk with unchanged elements stays the same array", () => {
  const chunks = new Chunks<number>(3);
  const before = chunks.update([1, 2, 3, 4]);
  const after = chunks.update([1, 2, 3, 4, 5, 6, 7]);
  expect(before).toEqual([[1, 2, 3], [4]]);
  expect(after).toEqual([[1, 2, 3], [4, 5, 6], [7]]);
  expect(after[0]).toBe(before[0]);
  expect(chunks.update([1, 0, 3])).toEqual([[1, 0, 3]]);
});
