import { language, t } from "../../i18n/language.svelte";
import type { KvReceipt, Usage } from "../api/types";

function whole(value: number): string {
  return new Intl.NumberFormat(language.current).format(value);
}

function oneDigit(value: number): string {
  return new Intl.NumberFormat(language.current, { maximumFractionDigits: 1 }).format(value);
}

export function count(value: number): string {
  return whole(value);
}

export function duration(ms: number): string {
  if (ms < 1) return t().receipt.underMillisecond;
  if (ms < 1_000) return `${whole(Math.round(ms))} ms`;
  return `${oneDigit(ms / 1_000)} s`;
}

export function bytes(value: number): string {
  if (value >= 1024 ** 3) return `${oneDigit(value / 1024 ** 3)} GiB`;
  if (value >= 1024 ** 2) return `${whole(Math.round(value / 1024 ** 2))} MiB`;
  return `${whole(Math.round(value / 1024))} KiB`;
}

/** A rate or a mean: with one digit where it is small. */
export function quantity(value: number): string {
  return value < 10 ? oneDigit(value) : whole(Math.round(value));
}

export function bytesPerSecond(value: number): string {
  return value < 1024 ? `${whole(Math.round(value))} B/s` : `${bytes(value)}/s`;
}

export function percent(share: number): string {
  return new Intl.NumberFormat(language.current, { style: "percent" }).format(share);
}

/** Where tokens came from, the nearest first. */
export const DEPTHS = ["device", "cpu", "redis", "computed"] as const;

const TIERS = ["device", "cpu", "redis"] as const;

/** The receipt in one sentence: "1,920 of 2,010 tokens from Redis". */
export function receiptWords(kv: Pick<KvReceipt, (typeof DEPTHS)[number]>): string {
  const words = t().receipt;
  const total = count(DEPTHS.reduce((sum, depth) => sum + kv[depth], 0));
  const tiers = TIERS.filter((depth) => kv[depth] > 0);
  if (tiers.length === 0) return words.computed(total);
  const parts = tiers.map((depth, index) =>
    index === 0
      ? words.first(count(kv[depth]), total, words.places[depth])
      : words.other(count(kv[depth]), words.places[depth]),
  );
  return words.and(parts);
}

/** Of what would have been without reuse only the order is known. */
const DIGITS_OF_ESTIMATE = 2;
/** A shorter time saved, as a share of the time to the first token, is not worth its words. */
const WORTH_SAYING = 0.2;

/** Times of an answer, as far as words tell them. */
type Times = Pick<Usage, "ttft_ms" | "tokens_per_second"> & { kv: Pick<KvReceipt, "saved_ms"> };

/** Speed in words, with only what the server knows: ["first token 38 ms instead of some 810 ms", "34 tokens/s"]. */
export function speedWords(usage: Times): string[] {
  const saved = usage.kv.saved_ms ?? 0;
  const otherwise = duration(Number((usage.ttft_ms + saved).toPrecision(DIGITS_OF_ESTIMATE)));
  const instead = saved > WORTH_SAYING * usage.ttft_ms ? t().receipt.insteadOf(otherwise) : "";
  const words = [t().receipt.firstToken(duration(usage.ttft_ms)) + instead];
  if (usage.tokens_per_second !== null) words.push(t().receipt.speed(oneDigit(usage.tokens_per_second)));
  return words;
}
