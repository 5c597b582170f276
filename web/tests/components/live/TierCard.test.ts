import { afterEach, expect, it, vi } from "vitest";

import TierCard from "../../../src/components/live/TierCard.svelte";
import { language } from "../../../src/i18n/language.svelte";
import type { LiveSample } from "../../../src/services/api/types";
import { tierOf } from "../../../src/services/tiers";
import { sample } from "../../live_samples";
import { mountWith } from "../mounting";

// jsdom has no canvas.
vi.mock("../../../src/components/live/Chart.svelte", () => ({ default: () => undefined }));

afterEach(() => language.choose("en"));

function show(changes: Partial<LiveSample>): string {
  const last = sample(0, changes);
  mountWith({}, TierCard as never, { tier: tierOf("redis"), samples: [last], last });
  return document.querySelector("section")!.textContent;
}

const used = { used_bytes: 50, capacity_bytes: 100, hit_rate: null, evictions_per_second: 0 };

it.each([
  ["closed", "ok", "Connection works"],
  ["open", "not used: 5 errors", "Connection not used after errors"],
  ["half-open", "not used: 5 errors", "Connection being tried again"],
] as const)("says in plain words that the breaker of a tier is %s", (breaker, state, words) => {
  const shown = show({ breaker, tiers: { redis: { ...used, state } } });
  expect(shown.replaceAll(/\s+/g, " ")).toContain(words);
});

it("says once that a tier is off, and in English why", async () => {
  expect(show({})).toContain("off: --redis-url off");
  await language.choose("de");
  expect(show({}).match(/\baus\b/gi)).toHaveLength(1);
});

it("says nothing about the size until prompts were looked up", () => {
  expect(show({ tiers: { redis: { ...used, state: "ok", plan: null } } })).not.toContain("Size");
});

it("says what to change about the size", () => {
  const plan = {
    setting: "redis-memory",
    counted_tokens: 50,
    needed_tokens: 20_000,
    sizes: [25, 50, 100, 200, 400, 800],
    hit_rates: [0, 0, 0, 0, 0, 0],
    current_bytes: 100,
    current_hit_rate: 0,
    advice: "unknown" as const,
    advised_bytes: null,
    advised_hit_rate: null,
    saved_seconds_per_day: null,
    tenants: {},
  };
  expect(show({ tiers: { redis: { ...used, state: "ok", plan } } })).toContain("50 of 20,000 prompt tokens were counted");
});
