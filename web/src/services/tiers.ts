import type { Catalogue } from "../i18n/en/page";
import { t } from "../i18n/language.svelte";
import type { TierId } from "./api/types";

/** One tier of the KV cache, as the page draws it. */
export interface Tier {
  id: TierId;
  /** Class of the style sheet that fills with the tier's colour, and name of the custom property that holds it. */
  colour: string;
  /** SVG path of the filled part of the tier's mark, a cell of 10 by 12 around (8, 8). No other mark of the list is a cell. */
  level: string;
  /** Whether a circuit breaker stands in front of the tier. */
  hasBreaker: boolean;
}

/** Texts about one tier. */
export type TierTexts = ReturnType<Catalogue["otherTier"]>;

/** The tiers with their own colours, marks and texts, the nearest first. The catalogues hold the texts, under `tiers`. */
export const KNOWN_TIERS: readonly Tier[] = [
  { id: "device", colour: "depth-1", level: "M3 2h10v12h-10z", hasBreaker: false },
  { id: "cpu", colour: "depth-2", level: "M3 8h10v6h-10z", hasBreaker: false },
  { id: "redis", colour: "depth-3", level: "M3 11h10v3h-10z", hasBreaker: true },
  { id: "disk", colour: "depth-4", level: "M3 12h10v2h-10z", hasBreaker: true },
];

/** Appearance of every other tier. It is below CPU memory. */
const OTHER: Omit<Tier, "id"> = { colour: "depth-5", level: "M3 13h10v1h-10z", hasBreaker: true };

/** The tier from which a prompt's KV needs no loading. */
export const NEAREST_TIER: TierId = KNOWN_TIERS[0]!.id;

/** Return the tier with an id, whether the page knows it or not. */
export function tierOf(id: TierId): Tier {
  return KNOWN_TIERS.find((tier) => tier.id === id) ?? { id, ...OTHER };
}

/** Return the tiers with these ids: the known ones, the nearest first, then the others in the order of `ids`. */
export function tiersOf(ids: readonly TierId[]): Tier[] {
  const known = KNOWN_TIERS.filter(({ id }) => ids.includes(id));
  return [...known, ...ids.map(tierOf).filter(({ id }) => !known.some((tier) => tier.id === id))];
}

/** Return the texts about a tier. A tier that the page does not know is named after its id: "tape" becomes "Tape". */
export function tierTexts(id: TierId): TierTexts {
  const known: Record<TierId, TierTexts | undefined> = t().tiers;
  return known[id] ?? t().otherTier(id.charAt(0).toUpperCase() + id.slice(1).replaceAll("_", " "));
}
