import { describe, expect, it } from "vitest";

import type { LiveSample } from "../../../src/services/api/types";
import { serverCharts, waiting } from "../../../src/services/live/charts";
import { columns, summary } from "../../../src/services/live/columns";
import { FIRST, sample } from "../../live_samples";

describe("charts", () => {
  const numbers = [(each: LiveSample) => each.generated_tokens_per_second, (each: LiveSample) => each.batch_size];

  it("have a gap between distant samples", () => {
    const told = [sample(0), sample(1), sample(11)];
    expect(columns(told, numbers)).toEqual([[0, 1, 6, 11].map((at) => FIRST + at), [0, 1, null, 11], [1.5, 1.5, null, 1.5]]);
  });

  it("are summed up without unknown values", () => {
    const told = [sample(2), sample(3, { generated_tokens_per_second: null }), sample(10)];
    expect(summary(told, numbers[0]!)).toEqual({ now: 10, mean: 6, most: 10 });
    expect(summary([], numbers[0]!)).toEqual({ now: null, mean: null, most: null });
  });

  it("have no value for a tier that is off", () => {
    const occupied = serverCharts()[3]!.series.map(({ read }) => read(sample(0)));
    expect(occupied).toEqual([0.5, 0.5, null]);
    expect(waiting(sample(0))).toBe(7);
  });
});
