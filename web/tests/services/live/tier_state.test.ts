import { expect, it } from "vitest";

import { tierState } from "../../../src/services/live/tier_state";

it.each([
  ["off: --no-cpu-tier", "off"],
  ["not used: 3 failures in a row", "unused"],
  ["refuses writes", "refusing"],
  ["another sentence", "other"],
])("knows the kind of state of %j", (sentence, state) => {
  expect(tierState(sentence)).toBe(state);
});
