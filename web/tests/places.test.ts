import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { UnreachableError } from "../src/services/api/errors";
import type { Place } from "../src/services/api/types";
import { ChatTiers } from "../src/stores/chat_tiers.svelte";
import { Warming } from "../src/stores/warming";
import { FakeApi } from "./fake_server";

let api: FakeApi;
let place: Place;

beforeEach(() => {
  vi.useFakeTimers();
  api = new FakeApi();
  place = "redis";
});
afterEach(() => vi.useRealTimers());

describe("where chats are", () => {
  let asked: string[][];
  let places: ChatTiers;

  beforeEach(() => {
    asked = [];
    vi.spyOn(api, "places").mockImplementation((ids) => {
      asked.push([...ids]);
      return Promise.resolve(ids.map((id) => [id, place]));
    });
    places = new ChatTiers(api);
  });

  it("is asked once for each that is listed, and for all of them every minute", async () => {
    const stop = places.start();
    places.list(["a", "b"]);
    await vi.advanceTimersByTimeAsync(0);
    places.list(["c", "a", "b"]);
    await vi.advanceTimersByTimeAsync(0);
    expect(asked).toEqual([["a", "b"], ["c"]]);
    expect(places.of("c")).toBe("redis");

    place = "cpu";
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked.at(-1)).toEqual(["c", "a", "b"]);
    expect(places.of("a")).toBe("cpu");

    stop();
    await vi.advanceTimersByTimeAsync(120_000);
    expect(asked).toHaveLength(3);
  });

  it("is not asked for a page that nobody sees, nor for the end of a long list", async () => {
    const stop = places.start();
    places.list(Array.from({ length: 80 }, (_, at) => `chat ${at}`));
    vi.spyOn(document, "visibilityState", "get").mockReturnValue("hidden");
    await vi.advanceTimersByTimeAsync(180_000);
    expect(asked.map(({ length }) => length)).toEqual([50]);
    stop();
  });

  it("is what was asked last, whichever answer comes first", async () => {
    const answers: ((place: Place) => void)[] = [];
    vi.spyOn(api, "places").mockImplementation(
      ([id]) => new Promise((resolve) => answers.push((told) => resolve([[id ?? "", told]]))),
    );
    void places.look(["a"]);
    void places.look(["a"]);
    answers[1]?.("device");
    await vi.advanceTimersByTimeAsync(0);
    answers[0]?.("redis");
    await vi.advanceTimersByTimeAsync(0);
    expect(places.of("a")).toBe("device");
  });

  it("stays what it was while the server is away", async () => {
    await places.look(["a"]);
    vi.spyOn(api, "places").mockRejectedValue(new UnreachableError());
    await places.look(["a"]);
    expect(places.of("a")).toBe("redis");
    expect(places.of("never asked")).toBeNull();
  });
});

describe("warming", () => {
  let told: string[];
  let left: string[];
  let looked: string[];
  let warmth: Warming;

  beforeEach(() => {
    [told, left, looked] = [[], [], []];
    vi.spyOn(api, "warm").mockImplementation((id) => Promise.resolve(Boolean(told.push(id))));
    vi.spyOn(api, "leave").mockImplementation((id) => Promise.resolve(void left.push(id)));
    warmth = new Warming(api, (id) => {
      looked.push(id);
      return Promise.resolve(place);
    });
  });

  it("is asked for a chat that is opened, and while it is typed in no more than every 20 s", async () => {
    warmth.open("a", false);
    warmth.type();
    await vi.advanceTimersByTimeAsync(19_000);
    warmth.type();
    expect(told).toEqual(["a"]);
    await vi.advanceTimersByTimeAsync(1_000);
    warmth.type();
    warmth.type();
    expect(told).toEqual(["a", "a"]);
  });

  it("waits for the first key where the chat is hot, and asks nothing on the empty page", () => {
    warmth.open(null, false);
    warmth.type();
    warmth.open("a", true);
    expect(told).toEqual([]);
    warmth.type();
    expect(told).toEqual(["a"]);
  });

  it("is taken back for a chat that is left", async () => {
    warmth.open("a", false);
    await vi.advanceTimersByTimeAsync(0);
    warmth.open("b", true);
    warmth.open(null, true);
    expect(left).toEqual(["a"]);
  });

  it("is looked at until the chat is hot, ever less often", async () => {
    warmth.open("a", false);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(looked).toEqual(["a"]);
    place = "cpu";
    await vi.advanceTimersByTimeAsync(2_000);
    place = "device";
    await vi.advanceTimersByTimeAsync(4_000);
    expect(looked).toEqual(["a", "a", "a"]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(looked).toHaveLength(3);
  });

  it("is looked at no more than four times where nothing comes, and once where the chat is left", async () => {
    warmth.open("a", false);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(looked).toHaveLength(4);
    warmth.open("b", false);
    await vi.advanceTimersByTimeAsync(500);
    warmth.open(null, false);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(looked.slice(4)).toEqual(["b"]);
  });

  it("that is refused is no trouble", async () => {
    vi.spyOn(api, "warm").mockRejectedValue(new UnreachableError());
    warmth.open("a", false);
    await vi.advanceTimersByTimeAsync(2_000);
    warmth.open("b", true);
    expect([left, looked]).toEqual([[], []]);
  });
});
