import type { TierState } from "../../i18n/en/live";

/** First words of the server's sentences about a tier. */
const STATES: readonly (readonly [string, TierState])[] = [
  ["off", "off"],
  ["full", "full"],
  ["not used", "unused"],
  ["refuses writes", "refusing"],
  ["slow", "slow"],
];

/** Return the kind of a tier's state from the server's sentence about it. */
export function tierState(sentence: string): TierState {
  return STATES.find(([beginning]) => sentence.startsWith(beginning))?.[1] ?? "other";
}
