import { receiptTexts } from "../../i18n/receipt";
import type { KvReceipt, Usage } from "../api/types";
import { list } from "../format/lists";
import { count, decimal, duration, tokens } from "../format/numbers";
import { tierTexts } from "../tiers";
import { COMPUTED, sourcesOf, type TokenCounts } from "./receipt";

/** Return the receipt as one sentence: "1,920 of 2,010 tokens from Redis". */
export function describeReceipt(kv: TokenCounts): string {
  const { computed, first, other } = receiptTexts();
  const sources = sourcesOf(kv);
  const sum = sources.reduce((before, { tokens }) => before + tokens, 0);
  const total = count(sum);
  const hits = sources.filter(({ id, tokens }) => id !== COMPUTED && tokens > 0);
  if (hits.length === 0) return computed(tokens(sum));
  return list(
    hits.map(({ id, tokens }, index) => {
      const { from } = tierTexts(id);
      return index === 0 ? first(count(tokens), total, from) : other(count(tokens), from);
    }),
  );
}

/** Return the name of a source of a prompt's tokens. */
export function sourceName(id: string): string {
  return id === COMPUTED ? receiptTexts().recomputed : tierTexts(id).name;
}

/** Return one sentence per treatment about the lines of the system prompt that the server removed or moved. */
export function describeLines(lines: KvReceipt["volatile_lines"]): string[] {
  const { removedLines, movedLines } = receiptTexts();
  const { removed = [], moved = [] } = lines ?? {};
  return [
    ...(removed.length > 0 ? [removedLines(list(removed.map(lineName)))] : []),
    ...(moved.length > 0 ? [movedLines(list(moved.map(lineName)))] : []),
  ];
}

/** Return the name of a kind of line. A kind that the page does not know keeps the name that the receipt has. */
function lineName(id: string): string {
  const known: Record<string, string | undefined> = receiptTexts().promptLines;
  return known[id] ?? id;
}

/** The time without reuse is an estimate of its order of magnitude. */
const DIGITS_OF_ESTIMATE = 2;
/** Least saving that is mentioned, as a share of the time to the first token. */
const MIN_SAVING = 0.2;

/** The times of an answer that are described. */
type Times = Pick<Usage, "ttft_ms" | "tokens_per_second"> & { kv: Pick<KvReceipt, "saved_ms"> };

/** Return the speed in phrases, without unknown figures: ["first token 38 ms instead of about 810 ms", "34 tokens/s"]. */
export function describeSpeed(usage: Times): string[] {
  const { firstToken, insteadOf, speed } = receiptTexts();
  const saved = usage.kv.saved_ms ?? 0;
  const otherwise = duration(Number((usage.ttft_ms + saved).toPrecision(DIGITS_OF_ESTIMATE)));
  const instead = saved > MIN_SAVING * usage.ttft_ms ? insteadOf(otherwise) : "";
  const phrases = [firstToken(duration(usage.ttft_ms)) + instead];
  if (usage.tokens_per_second !== null) phrases.push(speed(decimal(usage.tokens_per_second)));
  return phrases;
}
