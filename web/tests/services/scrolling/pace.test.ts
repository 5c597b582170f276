import { expect, it } from "vitest";

import { Pace } from "../../../src/services/scrolling/pace";

it("a step becomes smaller after a slow one, and larger after a quick one, within bounds", () => {
  const pace = new Pace(500, 4_000);
  const amounts = [10, 10, 10, 10, 30, 300, 300, 300, 300, 10].map((milliseconds) => {
    pace.took(pace.amount, milliseconds);
    return pace.amount;
  });
  expect(amounts).toEqual([1_000, 2_000, 4_000, 4_000, 4_000, 2_000, 1_000, 500, 500, 1_000]);
});

it("a step that was not full says nothing about a larger one", () => {
  const pace = new Pace(500, 4_000);
  pace.took(499, 1);
  expect(pace.amount).toBe(500);
});
