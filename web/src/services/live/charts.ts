import { t } from "../../i18n/language.svelte";
import type { LiveSample, Tier } from "../api/types";
import { bytesPerSecond, percent, quantity } from "../format/numbers";
import type { Read } from "./columns";

export const TIERS: readonly Tier[] = ["device", "cpu", "redis"];

/** One line of a chart. colour: a class of the style sheet that fills with it. */
export interface Series {
  label: string;
  colour: Tier | "computed" | "main" | "soft";
  read: Read;
  dashed?: boolean;
}

/** count: of whatever `unit` says. share: of one. */
export type Kind = "count" | "share" | "bytes";

/** What a chart shows. stacked: its series add up, the first on top. */
export interface ChartSpec {
  title: string;
  unit: string;
  kind: Kind;
  series: readonly Series[];
  stacked?: boolean;
}

const FORMATS: Record<Kind, (value: number) => string> = { count: quantity, share: percent, bytes: bytesPerSecond };

/** A number of a chart in words, a dash where there is none. */
export function inWords(kind: Kind, value: number | null | undefined): string {
  return value == null ? "–" : FORMATS[kind](value);
}

/** The charts of the whole server. */
export function serverCharts(): ChartSpec[] {
  const words = t().live;
  const names = { ...t().live.names, redis: t().receipt.names.redis };
  const perTier = (read: (sample: LiveSample, tier: Tier) => number | null | undefined): Series[] =>
    TIERS.map((tier) => ({ label: names[tier], colour: tier, read: (sample) => read(sample, tier) ?? null }));
  return [
    {
      title: words.generated,
      unit: words.tokensPerSecond,
      kind: "count",
      series: [{ label: words.generated, colour: "main", read: (sample) => sample.generated_tokens_per_second }],
    },
    {
      title: words.prompts,
      unit: words.tokensPerSecond,
      kind: "count",
      stacked: true,
      series: [
        ...perTier((sample, tier) => sample.prompt_tokens_per_second[tier]),
        { label: names.computed, colour: "computed", read: (sample) => sample.prompt_tokens_per_second.computed },
      ],
    },
    {
      title: words.requests,
      unit: "",
      kind: "count",
      series: [
        { label: words.running, colour: "main", read: ({ requests }) => requests.running },
        { label: words.waiting, colour: "computed", read: waiting },
        { label: words.batch, colour: "soft", dashed: true, read: (sample) => sample.batch_size },
      ],
    },
    {
      title: words.occupancy,
      unit: "",
      kind: "share",
      series: perTier(({ tiers }, tier) => occupancy(tiers[tier].used_bytes, tiers[tier].capacity_bytes)),
    },
    {
      title: words.hitRate,
      unit: "",
      kind: "share",
      series: perTier(({ tiers }, tier) => tiers[tier].hit_rate),
    },
    {
      title: words.evictions,
      unit: words.blocks,
      kind: "count",
      series: perTier(({ tiers }, tier) => tiers[tier].evictions_per_second),
    },
  ];
}

/** What goes into one tier, and out of it. */
export function trafficChart(tier: Tier): ChartSpec {
  const words = t().live;
  return {
    title: words.traffic(t().receipt.names[tier]),
    unit: "",
    kind: "bytes",
    series: [
      { label: words.in, colour: tier, read: ({ tiers }) => tiers[tier].bytes_in_per_second ?? null },
      { label: words.out, colour: tier, dashed: true, read: ({ tiers }) => tiers[tier].bytes_out_per_second ?? null },
    ],
  };
}

/** Requests that have come and compute nothing now. */
export function waiting({ requests }: LiveSample): number {
  return requests.waiting + requests.preempted + requests.loading + requests.following;
}

/** Null where there is no limit to fill. */
export function occupancy(used: number | undefined, capacity: number | undefined): number | null {
  return used === undefined || !capacity ? null : Math.min(1, used / capacity);
}
