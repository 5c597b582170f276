import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { ApiError } from "../src/services/api/errors";
import type { LiveSample } from "../src/services/api/types";
import { serverCharts, waiting } from "../src/services/live/charts";
import { columns, SHOWN_SECONDS, summary } from "../src/services/live/columns";
import { Live } from "../src/stores/live.svelte";
import { FakeApi, Wire } from "./fake_server";

const FIRST = 1_767_225_600;

function sample(seconds: number, changes: Partial<LiveSample> = {}): LiveSample {
  const tier = { state: "ok", used_bytes: 50, capacity_bytes: 100, hit_rate: null, evictions_per_second: 0 };
  return {
    at: FIRST + seconds,
    requests: { running: 1, waiting: 2, preempted: 1, loading: 3, following: 1 },
    batch_size: 1.5,
    generated_tokens_per_second: seconds,
    prompt_tokens_per_second: { device: 0, cpu: 1, redis: 2, computed: 3 },
    breaker: null,
    tiers: { device: tier, cpu: tier, redis: { state: "off: --redis-url off" } },
    ...changes,
  };
}

describe("the followed numbers", () => {
  let api: FakeApi;
  let live: Live;
  let stop: () => void = () => undefined;

  beforeEach(() => {
    vi.useFakeTimers();
    api = new FakeApi();
    live = new Live(api);
  });

  afterEach(() => {
    stop();
    vi.useRealTimers();
    see("visible");
  });

  const seconds = () => live.samples.map(({ at }) => at - FIRST);

  it("go on behind the last one after a break, and say meanwhile that the server is away", async () => {
    const first = new Wire("live").send(1, "sample", sample(1)).send(2, "sample", sample(2)).end();
    const second = new Wire("live").send(3, "sample", sample(3)).send(4, "other", {});
    api.followed = [first.response, new TypeError("no route"), second.response];
    expect(live.state).toBe("connecting");
    stop = live.start();
    await vi.advanceTimersByTimeAsync(0);
    expect([live.state, seconds()]).toEqual(["away", [1, 2]]);
    await vi.advanceTimersByTimeAsync(5_000);
    expect([live.state, seconds()]).toEqual(["live", [1, 2, 3]]);
    expect(api.cursors).toEqual([null, "live:0.2", "live:0.2"]);
  });

  it("are those of the last minutes, each once, also where the server tells them again", async () => {
    const wire = new Wire("live");
    for (const at of [0, 1, 2, 1, 2, 3, SHOWN_SECONDS + 2]) wire.send(at, "sample", sample(at));
    api.followed = [wire.response];
    stop = live.start();
    await vi.advanceTimersByTimeAsync(0);
    expect(seconds()).toEqual([3, SHOWN_SECONDS + 2]);
    wire.send(0, "sample", sample(-5_000));
    await vi.advanceTimersByTimeAsync(0);
    expect(seconds()).toEqual([-5_000]);
  });

  it("are not asked for while nobody can see them", async () => {
    api.followed = [new Wire("live").send(7, "sample", sample(7)).response, new Wire("live").response];
    stop = live.start();
    await vi.advanceTimersByTimeAsync(0);
    see("hidden");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(api.cursors).toEqual([null]);
    see("visible");
    await vi.advanceTimersByTimeAsync(0);
    expect(api.cursors).toEqual([null, "live:0.7"]);
  });

  it("are refused to who may not see them", async () => {
    api.followed = [new ApiError(403, { message: "This request requires a key with the scope admin" })];
    stop = live.start();
    await vi.advanceTimersByTimeAsync(60_000);
    expect([live.state, api.cursors.length]).toEqual(["refused", 1]);
  });
});

describe("charts", () => {
  const numbers = [(each: LiveSample) => each.generated_tokens_per_second, (each: LiveSample) => each.batch_size];

  it("have a gap where nothing was told", () => {
    const told = [sample(0), sample(1), sample(11)];
    expect(columns(told, numbers)).toEqual([[0, 1, 6, 11].map((at) => FIRST + at), [0, 1, null, 11], [1.5, 1.5, null, 1.5]]);
  });

  it("are summed up in words without what is not known", () => {
    const told = [sample(2), sample(3, { generated_tokens_per_second: null }), sample(10)];
    expect(summary(told, numbers[0]!)).toEqual({ now: 10, mean: 6, most: 10 });
    expect(summary([], numbers[0]!)).toEqual({ now: null, mean: null, most: null });
  });

  it("know nothing of a tier that is off", () => {
    const occupied = serverCharts()[3]!.series.map(({ read }) => read(sample(0)));
    expect(occupied).toEqual([0.5, 0.5, null]);
    expect(waiting(sample(0))).toBe(7);
  });
});

function see(state: "visible" | "hidden") {
  Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}
