import { describe, expect, it } from "vitest";

import type { LiveSample } from "../../../src/services/api/types";
import { serverCharts, trafficChart, waiting } from "../../../src/services/live/charts";
import { columns, stacked, summary } from "../../../src/services/live/columns";
import { tierOf, tiersOf } from "../../../src/services/tiers";
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
    const occupied = serverCharts(tiersOf(["device", "cpu", "redis"]))[3]!.series.map(({ read }) => read(sample(0)));
    expect(occupied).toEqual([0.5, 0.5, null]);
    expect(waiting(sample(0))).toBe(7);
  });

  it("have a line for a tier that the page does not know", () => {
    const disk = { state: "ok", used_bytes: 30, capacity_bytes: 120, hit_rate: 0.5, evictions_per_second: 4, bytes_in_per_second: 8 };
    const latest = sample(0, {
      prompt_tokens_per_second: { disk: 9, device: 0, computed: 3 },
      tiers: { disk, ...sample(0).tiers },
    });
    const lines = [...serverCharts(tiersOf(Object.keys(latest.tiers))), trafficChart(tierOf("disk"))].flatMap(({ title, series }) =>
      series.filter(({ colour }) => colour === tierOf("disk").colour).map(({ label, read }) => [title, label, read(latest), read(sample(0))]),
    );
    expect(lines).toEqual([
      ["Prompts", "Disk", 9, null],
      ["Occupancy", "Disk", 0.25, null],
      ["Hit rate", "Disk", 0.5, null],
      ["Evictions", "Disk", 4, null],
      ["Disk, in and out", "In", 8, null],
      ["Disk, in and out", "Out", null, null],
    ]);
  });

  it("stack each line on those after it, without unknown values", () => {
    expect(stacked([[1, 2], [1, 1], [10, null], [100, 100]])).toEqual([[1, 2], [111, 101], [110, null], [100, 100]]);
  });
});
