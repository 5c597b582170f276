import { expect, it } from "vitest";

import { duration } from "../../../src/services/format/numbers";

it.each([
  [0.2, "under 1 ms"],
  [999, "999 ms"],
  [61_000, "61 s"],
])("formats %d ms as %s", (ms, words) => expect(duration(ms)).toBe(words));
