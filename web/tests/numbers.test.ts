import { expect, it } from "vitest";

import { duration, receiptWords, speedWords } from "../src/services/format/numbers";

const none = { device: 0, cpu: 0, redis: 0, computed: 0 };

it("says how much came from one tier", () => {
  expect(receiptWords({ ...none, redis: 1920, computed: 90 })).toBe(
    "1,920 of 2,010 tokens from Redis",
  );
});

it("names every tier that gave something", () => {
  expect(receiptWords({ ...none, device: 64, cpu: 128, redis: 256, computed: 2 })).toBe(
    "64 of 450 tokens from the device, 128 from CPU memory and 256 from Redis",
  );
});

it("says when everything was computed", () => {
  expect(receiptWords({ ...none, computed: 1234 })).toBe("1,234 tokens computed");
  expect(receiptWords({ ...none, computed: 1 })).toBe("1 token computed");
});

it("leaves out a speed that was not measured", () => {
  const usage = { ttft_ms: 1500, tokens_per_second: null, kv: { saved_ms: null } };
  expect(speedWords(usage)).toEqual(["first token 1.5 s"]);
});

it("says when the first token would have come, where that is much later", () => {
  const saving = (saved_ms: number) =>
    speedWords({ ttft_ms: 38.2, tokens_per_second: null, kv: { saved_ms } });
  expect(saving(774)).toEqual(["first token 38 ms instead of some 810 ms"]);
  expect(saving(2)).toEqual(["first token 38 ms"]);
});

it.each([
  [0.2, "under 1 ms"],
  [999, "999 ms"],
  [61_000, "61 s"],
])("writes %d ms as %s", (ms, words) => expect(duration(ms)).toBe(words));
