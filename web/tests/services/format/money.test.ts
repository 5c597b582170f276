import { expect, it } from "vitest";

import { costOf, money } from "../../../src/services/format/money";

const PRICES = { currency: "EUR", input: 1, cached: 0.1, output: 4 };

it("charges computed, cached and written tokens at their own prices", () => {
  expect(costOf(PRICES, 1_000_000, 250_000, 500_000)).toBeCloseTo(0.75 + 0.025 + 2);
});

it.each([
  [0, "€0.00"],
  [0.0000347, "€0.000035"],
  [0.0349, "€0.03"],
  [1234.5, "€1,234.50"],
])("formats %d as %s", (amount, words) => expect(money(amount, "EUR")).toBe(words));
