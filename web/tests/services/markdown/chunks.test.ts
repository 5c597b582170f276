import { expect, it } from "vitest";

import { Chunks } from "../../../src/services/markdown/chunks";

it("a list in groups has the same groups where its members are the same", () => {
  const groups = new Chunks<number>(3);
  const before = groups.update([1, 2, 3, 4]);
  const after = groups.update([1, 2, 3, 4, 5, 6, 7]);
  expect(before).toEqual([[1, 2, 3], [4]]);
  expect(after).toEqual([[1, 2, 3], [4, 5, 6], [7]]);
  expect(after[0]).toBe(before[0]);
  expect(groups.update([1, 0, 3])).toEqual([[1, 0, 3]]);
});
