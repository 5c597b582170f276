import { liveTexts } from "../../i18n/live";
import type { LiveSample } from "../api/types";
import { bytes, count, longTime, percent } from "../format/numbers";
import { sentences } from "../format/sentences";
import { NEAREST_TIER, type Tier } from "../tiers";

/** Predicted hits of a tier at other sizes, and the size that the server advises. */
export type TierPlan = NonNullable<LiveSample["tiers"][string]["plan"]>;

/** Say what to change about the size of a tier, and what that brings, as `ebb cache plan` does. */
export function planText(tier: Tier, plan: TierPlan): string {
  const texts = liveTexts();
  if (plan.advice === "unknown") return texts.planUnknown(count(plan.counted_tokens), count(plan.needed_tokens));
  const advised = bytes(plan.advised_bytes ?? plan.current_bytes);
  if (plan.advice !== "grow") {
    return sentences(texts.planKeep(bytes(plan.sizes.at(-1)!)), plan.advice === "shrink" ? texts.planShrink(advised) : "");
  }
  const where = tier.id === NEAREST_TIER ? texts.planHere : texts.planHereOrAbove;
  const found = [plan.advised_hit_rate ?? plan.current_hit_rate, plan.current_hit_rate].map(percent) as [string, string];
  return sentences(
    texts.planGrow(`--${plan.setting}`, advised, bytes(plan.current_bytes), ...found, where),
    brings(plan.saved_seconds_per_day),
  );
}

function brings(saved: number | null): string {
  if (saved === null) return liveTexts().planUntimed;
  return saved === 0 ? liveTexts().planLoaded : liveTexts().planSaves(longTime(saved));
}
