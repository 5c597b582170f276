import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { ApiError } from "../../src/services/api/errors";
import { SHOWN_SECONDS } from "../../src/services/live/columns";
import { Live } from "../../src/stores/live.svelte";
import { FakeApi, Wire } from "../fake_server";
import { FIRST, sample } from "../live_samples";

describe("live samples", () => {
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
    see("visible");
  });

  const seconds = () => live.samples.map(({ at }) => at - FIRST);

  it("continue after the last one, with the state away in between", async () => {
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

  it("cover the last minutes, each sample once", async () => {
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

  it("keep one list of tiers while the ids are the same", async () => {
    const wire = new Wire("live").send(1, "sample", sample(1));
    const more = (at: number) => sample(at, { tiers: { ...sample(at).tiers, disk: { state: "ok" } } });
    api.followed = [wire.response];
    expect(live.tiers).toEqual([]);
    stop = live.start();
    await vi.advanceTimersByTimeAsync(0);
    expect(live.tiers.map(({ id }) => id)).toEqual(["device", "cpu", "redis"]);
    wire.send(2, "sample", more(2));
    await vi.advanceTimersByTimeAsync(0);
    const tiers = live.tiers;
    expect(tiers.map(({ id }) => id)).toEqual(["device", "cpu", "redis", "disk"]);
    wire.send(3, "sample", more(3));
    await vi.advanceTimersByTimeAsync(0);
    expect(live.tiers).toBe(tiers);
  });

  it("are not requested while the page is hidden", async () => {
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

  it("report a refusal for lack of scope", async () => {
    api.followed = [new ApiError(403, { message: "This request requires a key with the scope admin" })];
    stop = live.start();
    await vi.advanceTimersByTimeAsync(60_000);
    expect([live.state, api.cursors.length]).toEqual(["refused", 1]);
  });
});

function see(state: "visible" | "hidden") {
  Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}
