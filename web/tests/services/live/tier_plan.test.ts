import { afterEach, expect, it } from "vitest";

import { language } from "../../../src/i18n/language.svelte";
import { planText, type TierPlan } from "../../../src/services/live/tier_plan";
import { tierOf } from "../../../src/services/tiers";

const GIB = 1024 ** 3;
const PLAN: TierPlan = {
  setting: "cpu-kv-memory",
  counted_tokens: 1_000_000,
  needed_tokens: 20_000,
  sizes: [2, 4, 8, 16, 32, 64].map((size) => size * GIB),
  hit_rates: [0.4, 0.5, 0.6, 0.7, 0.71, 0.72],
  current_bytes: 8 * GIB,
  current_hit_rate: 0.6,
  advice: "grow",
  advised_bytes: 16 * GIB,
  advised_hit_rate: 0.7,
  saved_seconds_per_day: 1728,
  tenants: {},
};

afterEach(() => language.choose("en"));

function shown(changes: Partial<TierPlan> = {}, tier = "cpu"): string {
  return planText(tierOf(tier), { ...PLAN, ...changes }).replaceAll("\u00A0", " ");
}

it("names the setting, the sizes, the hit rates and the computing that is saved", () => {
  expect(shown()).toBe(
    "With --cpu-kv-memory at 16 GiB instead of 8 GiB, 70% instead of 60% of prompt tokens would be found here or in a tier above. " +
      "That saves about 29 min of computing a day.",
  );
  expect(shown({ saved_seconds_per_day: 2 * 3600 })).toContain("about 2 hr of");
});

it("names no tier above the device", () => {
  expect(shown({ setting: "kv-memory" }, "device")).toContain("would be found here. ");
});

it.each([
  [0, "Today they are loaded from a lower tier, so little computing is saved."],
  [null, "How much computing that saves is not known yet."],
])("says what a saving of %s means", (saved, expected) => {
  expect(shown({ saved_seconds_per_day: saved })).toMatch(new RegExp(`\\. ${expected}$`));
});

it.each([
  ["keep", null, "Nothing to gain: even 64 GiB would find hardly more."],
  ["shrink", 4 * GIB, "Nothing to gain: even 64 GiB would find hardly more. 4 GiB would be enough."],
] as const)("gives the advice %s", (advice, advised_bytes, expected) => {
  expect(shown({ advice, advised_bytes })).toBe(expected);
});

it("advises nothing after few prompts", () => {
  const few = { advice: "unknown", counted_tokens: 4_200, advised_bytes: null } as const;
  expect(shown(few)).toBe("Too little is known yet: 4,200 of 20,000 prompt tokens were counted.");
});

it("speaks the language of the page", async () => {
  await language.choose("de");
  expect(shown()).toBe(
    "Mit --cpu-kv-memory auf 16 GiB statt 8 GiB würden 70 % statt 60 % der Prompt-Token hier oder in einer Ebene darüber gefunden. " +
      "Das spart täglich etwa 29 Min. Rechenzeit.",
  );
});
