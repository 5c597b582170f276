import { expect, it } from "vitest";

import { language } from "../../../src/i18n/language.svelte";
import { bytes, bytesPerSecond, duration, seconds } from "../../../src/services/format/numbers";

it.each([
  [0.2, "under 1 ms"],
  [999, "999 ms"],
  [61_000, "61 s"],
])("formats %d ms as %s", (ms, words) => expect(duration(ms)).toBe(words));

it.each([
  ["de", "0,77 s", "3,4 s", "unter 1 ms"],
  ["ru", "0,77 с", "3,4 с", "меньше 1 мс"],
  ["ja", "0.77 秒", "3.4 秒", "1 ms 未満"],
  ["ar", "\u20680.77 ث\u2069", "\u20683.4 ث\u2069", "أقل من \u20681 ملي ث\u2069"],
] as const)("writes units of time as people do in %s", async (tag, brief, long, short) => {
  await language.choose(tag);
  expect([seconds(770), duration(3_400), duration(0.2)].map((text) => text.replaceAll("\u00A0", " "))).toEqual([brief, long, short]);
  await language.choose("en");
});

it("keeps numbers and units in order within lines from right to left", async () => {
  await language.choose("he");
  expect([bytes(2048), bytesPerSecond(100), duration(12)]).toEqual(["\u20682 KiB\u2069", "\u2068100 B/s\u2069", "\u206812 ms\u2069"]);
  await language.choose("en");
});
