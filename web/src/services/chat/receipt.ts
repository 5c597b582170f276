import { t } from "../../i18n/language.svelte";
import type { KvReceipt, Usage } from "../api/types";
import { count, decimal, duration } from "../format/numbers";
import { SOURCES, TIERS, type SourceId } from "../tiers";

/** Return the receipt as one sentence: "1,920 of 2,010 tokens from Redis". */
export function describeReceipt(kv: Pick<KvReceipt, SourceId>): string {
  const { computed, first, other, and } = t().receipt;
  const total = count(SOURCES.reduce((sum, { id }) => sum + kv[id], 0));
  const hits = TIERS.filter(({ id }) => kv[id] > 0);
  if (hits.length === 0) return computed(total);
  return and(
    hits.map(({ id }, index) => {
      const { from } = t().tiers[id];
      return index === 0 ? first(count(kv[id]), total, from) : other(count(kv[id]), from);
    }),
  );
}

/** Return the name of a source of tokens. */
export function sourceName(id: SourceId): string {
  return id === "computed" ? t().receipt.recomputed : t().tiers[id].name;
}

/** The time without reuse is an estimate of its order of magnitude. */
const DIGITS_OF_ESTIMATE = 2;
/** Least saving that is mentioned, as a share of the time to the first token. */
const MIN_SAVING = 0.2;

/** The times of an answer that are described. */
type Times = Pick<Usage, "ttft_ms" | "tokens_per_second"> & { kv: Pick<KvReceipt, "saved_ms"> };

/** Return the speed in phrases, without unknown figures: ["first token 38 ms instead of about 810 ms", "34 tokens/s"]. */
export function describeSpeed(usage: Times): string[] {
  const saved = usage.kv.saved_ms ?? 0;
  const otherwise = duration(Number((usage.ttft_ms + saved).toPrecision(DIGITS_OF_ESTIMATE)));
  const instead = saved > MIN_SAVING * usage.ttft_ms ? t().receipt.insteadOf(otherwise) : "";
  const phrases = [t().receipt.firstToken(duration(usage.ttft_ms)) + instead];
  if (usage.tokens_per_second !== null) phrases.push(t().receipt.speed(decimal(usage.tokens_per_second)));
  return phrases;
}
