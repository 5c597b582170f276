import { expect, it } from "vitest";

import { sourcesOf, summarize } from "../../../src/services/chat/receipt";
import { describeLines, describeReceipt, describeSpeed, sourceName } from "../../../src/services/chat/receipt_details";

const none = { device: 0, cpu: 0, redis: 0, computed: 0 };

it("names the tokens of one tier", () => {
  expect(describeReceipt({ ...none, redis: 1920, computed: 90 })).toBe(
    "1,920 of 2,010 tokens from Redis",
  );
});

it("names every tier with tokens", () => {
  expect(describeReceipt({ ...none, device: 64, cpu: 128, redis: 256, computed: 2 })).toBe(
    "64 of 450 tokens from the device, 128 from CPU memory, and 256 from Redis",
  );
});

it("says that everything was computed", () => {
  expect(describeReceipt({ ...none, computed: 1234 })).toBe("1,234 tokens computed");
  expect(describeReceipt({ ...none, computed: 1 })).toBe("1 token computed");
});

it("names tiers unknown to the page after the others", () => {
  const kv = { tape: 512, ...none, cpu: 128, computed: 2, restore_ms: 38, bytes: { cpu: 9, tape: 7, redis: 8 } };
  expect(describeReceipt(kv)).toBe("128 of 642 tokens from CPU memory and 512 from the Tape tier");
  expect(sourcesOf(kv).map(({ id, tokens }) => [sourceName(id), tokens])).toEqual([
    ["Device memory", 0],
    ["CPU memory", 128],
    ["Redis", 0],
    ["Tape", 512],
    ["Computed", 2],
  ]);
});

it("lists no tier that the receipt lacks", () => {
  expect(sourcesOf({ device: 64, computed: 2 }).map(({ id }) => id)).toEqual(["device", "computed"]);
});

it("summarizes where the prompt came from, and the time to the first token", () => {
  const time = { ttft_ms: 260 };
  expect(summarize({ ...none, computed: 43 }, time)).toBe("43 tokens computed · 0.26 s");
  expect(summarize({ ...none, device: 189, computed: 11 }, time)).toBe("94% cached · 0.26 s");
  expect(summarize({ ...none, device: 64, redis: 100, computed: 11 }, time)).toBe("93% restored from Redis · 0.26 s");
  expect(summarize({ ...none, device: 999, computed: 1 }, { ttft_ms: 1 })).toBe("99% cached · 0.01 s");
});

it("says that the prompt was restored while its question was typed", () => {
  const kv = { ...none, device: 180, computed: 20 };
  expect(summarize({ ...kv, prefetched: { redis: 128, disk: 0 } }, { ttft_ms: 12_340 })).toBe("90% restored from Redis while you typed · 12 s");
  expect(summarize({ ...kv, prefetched: { redis: 64, disk: 0 } }, { ttft_ms: 70 })).toBe("90% cached · 0.07 s");
});

it("leaves out an unknown speed", () => {
  const usage = { ttft_ms: 1500, tokens_per_second: null, kv: { saved_ms: null } };
  expect(describeSpeed(usage)).toEqual(["first token 1.5 s"]);
});

it("adds the time without reuse if it is much longer", () => {
  const saving = (saved_ms: number) =>
    describeSpeed({ ttft_ms: 38.2, tokens_per_second: null, kv: { saved_ms } });
  expect(saving(774)).toEqual(["first token 38 ms instead of about 810 ms"]);
  expect(saving(2)).toEqual(["first token 38 ms"]);
});

it("names the lines that left the system prompt, by treatment", () => {
  const moved = ["todays-date", "claude-code-git-status", "moved-lines"];
  expect(describeLines({ removed: ["claude-code-billing-header"], moved })).toEqual([
    "Left out, to keep the system prompt stable: Claude Code's billing header",
    "Moved to the first message, to keep the system prompt stable: today's date, Claude Code's Git status, and lines of the setting moved-lines",
  ]);
});

it("calls an unknown kind of line by its name in the receipt", () => {
  expect(describeLines({ removed: ["new-clock"], moved: [] })).toEqual(["Left out, to keep the system prompt stable: new-clock"]);
});

it("says nothing of lines where none left the system prompt", () => {
  expect([describeLines(undefined), describeLines(null)]).toEqual([[], []]);
});
