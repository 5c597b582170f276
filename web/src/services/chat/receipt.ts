import { t } from "../../i18n/language.svelte";
import type { KvReceipt, TierId, Usage } from "../api/types";
import { count, decimal, duration } from "../format/numbers";
import { KNOWN_TIERS, tierTexts, tiersOf } from "../tiers";

/** The token counts of a receipt, by tier id. The keys of `bytes` are the tiers below the device. Receipts of old messages lack it. */
interface TokenCounts {
  readonly [id: TierId]: unknown;
  readonly computed: number;
  readonly bytes?: Readonly<Record<TierId, number>>;
}

/** Origin of some of a prompt's tokens: a tier, or the model that computed them. */
export interface Source {
  /** Id of the tier, or "computed". */
  id: string;
  name: string;
  /** Class of the style sheet that fills with the source's colour. */
  colour: string;
  tokens: number;
}

const COMPUTED = "computed";

/** Return all sources of a prompt's tokens: the tiers, then the model. */
export function sourcesOf(kv: TokenCounts): Source[] {
  const known = KNOWN_TIERS.map(({ id }) => id).filter((id) => id in kv);
  const tiers = tiersOf([...known, ...Object.keys(kv.bytes ?? {})]);
  return [
    ...tiers.map(({ id, colour }) => ({ id, name: tierTexts(id).name, colour, tokens: Number(kv[id] ?? 0) })),
    { id: COMPUTED, name: t().receipt.recomputed, colour: COMPUTED, tokens: kv.computed },
  ];
}

/** Return the receipt as one sentence: "1,920 of 2,010 tokens from Redis". */
export function describeReceipt(kv: TokenCounts): string {
  const { computed, first, other, and } = t().receipt;
  const sources = sourcesOf(kv);
  const total = count(sources.reduce((sum, { tokens }) => sum + tokens, 0));
  const hits = sources.filter(({ id, tokens }) => id !== COMPUTED && tokens > 0);
  if (hits.length === 0) return computed(total);
  return and(
    hits.map(({ id, tokens }, index) => {
      const { from } = tierTexts(id);
      return index === 0 ? first(count(tokens), total, from) : other(count(tokens), from);
    }),
  );
}

/** Return one sentence per treatment about the lines of the system prompt that the server removed or moved. */
export function describeLines(lines: KvReceipt["volatile_lines"]): string[] {
  const { removedLines, movedLines } = t().receipt;
  const { removed = [], moved = [] } = lines ?? {};
  return [
    ...(removed.length > 0 ? [removedLines(removed.map(lineName))] : []),
    ...(moved.length > 0 ? [movedLines(moved.map(lineName))] : []),
  ];
}

/** Return the name of a kind of line. A kind that the page does not know keeps the name that the receipt has. */
function lineName(id: string): string {
  const known: Record<string, string | undefined> = t().promptLines;
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
  const saved = usage.kv.saved_ms ?? 0;
  const otherwise = duration(Number((usage.ttft_ms + saved).toPrecision(DIGITS_OF_ESTIMATE)));
  const instead = saved > MIN_SAVING * usage.ttft_ms ? t().receipt.insteadOf(otherwise) : "";
  const phrases = [t().receipt.firstToken(duration(usage.ttft_ms)) + instead];
  if (usage.tokens_per_second !== null) phrases.push(t().receipt.speed(decimal(usage.tokens_per_second)));
  return phrases;
}
