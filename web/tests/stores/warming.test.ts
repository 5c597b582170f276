import { beforeEach, describe, expect, it, vi } from "vitest";

import { UnreachableError } from "../../src/services/api/errors";
import type { TierId } from "../../src/services/api/types";
import { Warming } from "../../src/stores/warming";
import { FakeApi } from "../fake_server";

let api: FakeApi;
let tier: TierId | null;

beforeEach(() => {
  vi.useFakeTimers();
  api = new FakeApi();
  tier = "redis";
});

describe("warming", () => {
  let told: string[];
  let left: string[];
  let looked: string[];
  let warming: Warming;

  beforeEach(() => {
    [told, left, looked] = [[], [], []];
    vi.spyOn(api, "warm").mockImplementation((id) => Promise.resolve(Boolean(told.push(id))));
    vi.spyOn(api, "stopWarming").mockImplementation((id) => Promise.resolve(void left.push(id)));
    warming = new Warming(api, (id) => {
      looked.push(id);
      return Promise.resolve(tier);
    });
  });

  it("is requested on opening, and every 20 s while typing", async () => {
    warming.open("a", false);
    warming.onType();
    await vi.advanceTimersByTimeAsync(19_000);
    warming.onType();
    expect(told).toEqual(["a"]);
    await vi.advanceTimersByTimeAsync(1_000);
    warming.onType();
    warming.onType();
    expect(told).toEqual(["a", "a"]);
  });

  it("waits for the first key in a hot chat, and skips the empty page", () => {
    warming.open(null, false);
    warming.onType();
    warming.open("a", true);
    expect(told).toEqual([]);
    warming.onType();
    expect(told).toEqual(["a"]);
  });

  it("is withdrawn when the chat is left", async () => {
    warming.open("a", false);
    await vi.advanceTimersByTimeAsync(0);
    warming.open("b", true);
    warming.open(null, true);
    expect(left).toEqual(["a"]);
  });

  it("polls with growing pauses until the chat is hot", async () => {
    warming.open("a", false);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(looked).toEqual(["a"]);
    tier = "cpu";
    await vi.advanceTimersByTimeAsync(2_000);
    tier = "device";
    await vi.advanceTimersByTimeAsync(4_000);
    expect(looked).toEqual(["a", "a", "a"]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(looked).toHaveLength(3);
  });

  it("polls four times at most, and once after the chat is left", async () => {
    warming.open("a", false);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(looked).toHaveLength(4);
    warming.open("b", false);
    await vi.advanceTimersByTimeAsync(500);
    warming.open(null, false);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(looked.slice(4)).toEqual(["b"]);
  });

  it("ignores a refusal", async () => {
    vi.spyOn(api, "warm").mockRejectedValue(new UnreachableError());
    warming.open("a", false);
    await vi.advanceTimersByTimeAsync(2_000);
    warming.open("b", true);
    expect([left, looked]).toEqual([[], []]);
  });
});
