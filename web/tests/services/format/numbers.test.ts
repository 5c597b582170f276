import { expect, it } from "vitest";

import { language } from "../../../src/i18n/language.svelte";
import { bytes, bytesPerSecond, duration } from "../../../src/services/format/numbers";

it.each([
  [0.2, "under 1 ms"],
  [999, "999 ms"],
  [61_000, "61 s"],
])("formats %d ms as %s", (ms, words) => expect(duration(ms)).toBe(words));

it("keeps numbers and units in order within lines from right to left", async () => {
  await language.choose("he");
  expect([bytes(2048), bytesPerSecond(100), duration(12)]).toEqual(["\u20662 KiB\u2069", "\u2066100 B/s\u2069", "\u206612 ms\u2069"]);
  await language.choose("en");
});
