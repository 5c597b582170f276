import type { KvReceipt, Usage } from "./types";

const whole = new Intl.NumberFormat("en");
const one = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

export function count(value: number): string {
  return whole.format(value);
}

export function duration(ms: number): string {
  if (ms < 1) return "under 1 ms";
  if (ms < 1_000) return `${whole.format(Math.round(ms))} ms`;
  return `${one.format(ms / 1_000)} s`;
}

export function bytes(value: number): string {
  if (value >= 1024 ** 3) return `${one.format(value / 1024 ** 3)} GiB`;
  if (value >= 1024 ** 2) return `${whole.format(Math.round(value / 1024 ** 2))} MiB`;
  return `${whole.format(Math.round(value / 1024))} KiB`;
}

export type Depth = "device" | "cpu" | "redis" | "computed";

export const DEPTHS: readonly { depth: Depth; name: string; from: string }[] = [
  { depth: "device", name: "Device memory", from: "the device" },
  { depth: "cpu", name: "CPU memory", from: "CPU memory" },
  { depth: "redis", name: "Redis", from: "Redis" },
  { depth: "computed", name: "Computed anew", from: "" },
];

/** The receipt in one sentence: "1,920 of 2,010 tokens from Redis, 38 ms". */
export function receiptWords(kv: KvReceipt): string {
  const total = kv.device + kv.cpu + kv.redis + kv.computed;
  const tiers = DEPTHS.filter(({ depth }) => depth !== "computed" && kv[depth] > 0);
  if (tiers.length === 0) return `${count(total)} tokens computed`;
  const parts = tiers.map(({ depth, from }, index) =>
    index === 0 ? `${count(kv[depth])} of ${count(total)} tokens from ${from}` : `${count(kv[depth])} from ${from}`,
  );
  const restored = kv.cpu + kv.redis > 0 && kv.restore_ms ? `, ${duration(kv.restore_ms)}` : "";
  return joined(parts) + restored;
}

/** Speed in words, with only what the server measured: ["first token 120 ms", "34 tokens/s"]. */
export function speedWords(usage: Usage): string[] {
  const words: string[] = [];
  if (usage.ttft_ms != null) words.push(`first token ${duration(usage.ttft_ms)}`);
  if (usage.tokens_per_second != null) words.push(`${one.format(usage.tokens_per_second)} tokens/s`);
  return words;
}

function joined(parts: readonly string[]): string {
  if (parts.length < 2) return parts.join("");
  return `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}
