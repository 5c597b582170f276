import type { LiveSample } from "./api/types";

export type TierId = keyof LiveSample["tiers"];

/** One tier of the KV cache, as the page draws it. The catalogues hold the texts, under `tiers`. */
export interface Tier {
  id: TierId;
  /** Class of the style sheet that fills with the tier's colour, and name of the custom property that holds it. */
  colour: string;
  /** SVG path of the filled part of the tier's mark, inside a circle of radius 6 around (8, 8). */
  level: string;
  /** Whether `LiveSample.breaker` is the circuit breaker of this tier. */
  hasBreaker: boolean;
}

/** The tiers of the KV cache, the nearest first: the page's one list of them. */
export const TIERS: readonly Tier[] = [
  { id: "device", colour: "depth-1", level: "M2 8a6 6 0 0 0 12 0a6 6 0 0 0-12 0z", hasBreaker: false },
  { id: "cpu", colour: "depth-2", level: "M2 8a6 6 0 0 0 12 0z", hasBreaker: false },
  { id: "redis", colour: "depth-3", level: "M2.8 11a6 6 0 0 0 10.4 0z", hasBreaker: true },
];

/** The tier from which a prompt's KV needs no loading. */
export const NEAREST_TIER: TierId = TIERS[0]!.id;

/** Origins of a prompt's tokens: the tiers, then the model. */
export type SourceId = TierId | "computed";

export const SOURCES: readonly { id: SourceId; colour: string }[] = [...TIERS, { id: "computed", colour: "computed" }];

/** Return the tier with an id. */
export function tierOf(id: TierId): Tier {
  return TIERS.find((tier) => tier.id === id)!;
}
