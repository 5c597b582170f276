import { beforeEach, describe, expect, it, vi } from "vitest";

import { UnreachableError } from "../../src/services/api/errors";
import type { TierId } from "../../src/services/api/types";
import { ChatTiers } from "../../src/stores/chat_tiers.svelte";
import { FakeApi } from "../fake_server";

let api: FakeApi;
let tier: TierId | null;

beforeEach(() => {
  vi.useFakeTimers();
  api = new FakeApi();
  tier = "redis";
});

describe("the tiers of chats", () => {
  let asked: string[][];
  let tiers: ChatTiers;

  beforeEach(() => {
    asked = [];
    vi.spyOn(api, "places").mockImplementation((ids) => {
      asked.push([...ids]);
      return Promise.resolve(ids.map((id) => [id, tier]));
    });
    tiers = new ChatTiers(api);
  });

  it("are requested once per listed chat, and for all each minute", async () => {
    const stop = tiers.start();
    tiers.list(["a", "b"]);
    await vi.advanceTimersByTimeAsync(0);
    tiers.list(["c", "a", "b"]);
    await vi.advanceTimersByTimeAsync(0);
    expect(asked).toEqual([["a", "b"], ["c"]]);
    expect(tiers.of("c")).toBe("redis");

    tier = "cpu";
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked.at(-1)).toEqual(["c", "a", "b"]);
    expect(tiers.of("a")).toBe("cpu");

    stop();
    await vi.advanceTimersByTimeAsync(120_000);
    expect(asked).toHaveLength(3);
  });

  it("are not requested for a hidden page or the end of a long list", async () => {
    const stop = tiers.start();
    tiers.list(Array.from({ length: 80 }, (_, at) => `chat ${at}`));
    vi.spyOn(document, "visibilityState", "get").mockReturnValue("hidden");
    await vi.advanceTimersByTimeAsync(180_000);
    expect(asked.map(({ length }) => length)).toEqual([50]);
    stop();
  });

  it("come from the last request, whatever the order of responses", async () => {
    const answers: ((tier: TierId | null) => void)[] = [];
    vi.spyOn(api, "places").mockImplementation(
      ([id]) => new Promise((resolve) => answers.push((told) => resolve([[id ?? "", told]]))),
    );
    void tiers.refresh(["a"]);
    void tiers.refresh(["a"]);
    answers[1]?.("device");
    await vi.advanceTimersByTimeAsync(0);
    answers[0]?.("redis");
    await vi.advanceTimersByTimeAsync(0);
    expect(tiers.of("a")).toBe("device");
  });

  it("stay unchanged while the server is away", async () => {
    await tiers.refresh(["a"]);
    vi.spyOn(api, "places").mockRejectedValue(new UnreachableError());
    await tiers.refresh(["a"]);
    expect(tiers.of("a")).toBe("redis");
    expect(tiers.of("never asked")).toBeNull();
  });
});
