import { t } from "../../i18n/language.svelte";
import type { KvReceipt, TierId, Usage } from "../api/types";
import { percent, seconds, tokens } from "../format/numbers";
import { KNOWN_TIERS, NEAREST_TIER, tierTexts, tiersOf } from "../tiers";

/** The token counts of a receipt, by tier id. The keys of `bytes` are the tiers below the device. Receipts of old messages lack it. */
export interface TokenCounts {
  readonly [id: TierId]: unknown;
  readonly computed: number;
  readonly bytes?: Readonly<Record<TierId, number>>;
}

/** Origin of some of a prompt's tokens: a tier, or the model that computed them. */
export interface Source {
  /** Id of the tier, or "computed". */
  id: string;
  /** Class of the style sheet that fills with the source's colour. */
  colour: string;
  tokens: number;
}

/** Id of the source of tokens that the model computed, and class of its colour. */
export const COMPUTED = "computed";
/** Tier of host memory. Its blocks are ready as soon as they are copied, so they count as cached and not as restored. */
const HOST_TIER = "cpu";

/** Return all sources of a prompt's tokens: the tiers, then the model. */
export function sourcesOf(kv: TokenCounts): Source[] {
  const known = KNOWN_TIERS.map(({ id }) => id).filter((id) => id in kv);
  const tiers = tiersOf([...known, ...Object.keys(kv.bytes ?? {})]);
  return [
    ...tiers.map(({ id, colour }) => ({ id, colour, tokens: Number(kv[id] ?? 0) })),
    { id: COMPUTED, colour: COMPUTED, tokens: kv.computed },
  ];
}

/** Return the receipt in a few words, with the time to the first token: "94% cached · 0.26 s". */
export function summarize(kv: TokenCounts & Pick<KvReceipt, "prefetched">, { ttft_ms }: Pick<Usage, "ttft_ms">): string {
  const { cached, restored, typed, computed } = t().receipt;
  const sources = sourcesOf(kv);
  const total = sources.reduce((sum, { tokens }) => sum + tokens, 0);
  const reused = total - kv.computed;
  const time = seconds(ttft_ms);
  if (reused === 0) return computed(tokens(total), time);
  const share = percent(Math.floor((100 * reused) / total) / 100);
  const [prefetched] = Object.entries(kv.prefetched ?? {}).filter(([, tokens]) => 2 * tokens >= reused);
  if (prefetched) return typed(share, tierTexts(prefetched[0]).from, time);
  const lower = sources.find(({ id, tokens }) => ![NEAREST_TIER, HOST_TIER, COMPUTED].includes(id) && 2 * tokens >= reused);
  return lower ? restored(share, tierTexts(lower.id).from, time) : cached(share, time);
}
