import { liveTexts } from "../../i18n/live";
import type { LiveSample, TierId } from "../api/types";
import { bytesPerSecond, percent, quantity } from "../format/numbers";
import { tierTexts, type Tier } from "../tiers";
import type { Metric } from "./columns";

/** One line of a chart. */
export interface Series {
  label: string;
  /** Class of the style sheet that fills with the line's colour. */
  colour: string;
  read: Metric;
  dashed?: boolean;
}

/** Unit of a chart's numbers: `ChartSpec.unit`, a share of one, or bytes per second. */
export type Kind = "count" | "share" | "bytes";

/** Contents of a chart. */
export interface ChartSpec {
  title: string;
  unit: string;
  kind: Kind;
  series: readonly Series[];
  /** Whether the series add up, the first on top. */
  stacked?: boolean;
}

const FORMATS: Record<Kind, (value: number) => string> = { count: quantity, share: percent, bytes: bytesPerSecond };

/** Format a number of a chart, or a dash where there is none. */
export function formatValue(kind: Kind, value: number | null | undefined): string {
  return value == null ? "–" : FORMATS[kind](value);
}

/** Return the charts of the whole server, which has these tiers. */
export function serverCharts(tiers: readonly Tier[]): ChartSpec[] {
  const texts = liveTexts();
  const perTier = (read: (sample: LiveSample, tier: TierId) => number | null | undefined): Series[] =>
    tiers.map(({ id, colour }) => ({ label: tierTexts(id).short, colour, read: (sample) => read(sample, id) ?? null }));
  return [
    {
      title: texts.generated,
      unit: texts.tokensPerSecond,
      kind: "count",
      series: [{ label: texts.generated, colour: "main", read: (sample) => sample.generated_tokens_per_second }],
    },
    {
      title: texts.prompts,
      unit: texts.tokensPerSecond,
      kind: "count",
      stacked: true,
      series: [
        ...perTier((sample, tier) => sample.prompt_tokens_per_second[tier]),
        { label: texts.computed, colour: "computed", read: (sample) => sample.prompt_tokens_per_second["computed"] ?? null },
      ],
    },
    {
      title: texts.requests,
      unit: "",
      kind: "count",
      series: [
        { label: texts.running, colour: "main", read: ({ requests }) => requests.running },
        { label: texts.waiting, colour: "computed", read: waiting },
        { label: texts.batch, colour: "soft", dashed: true, read: (sample) => sample.batch_size },
      ],
    },
    {
      title: texts.occupancy,
      unit: "",
      kind: "share",
      series: perTier((sample, tier) => occupancy(sample.tiers[tier]?.used_bytes, sample.tiers[tier]?.capacity_bytes)),
    },
    {
      title: texts.hitRate,
      unit: "",
      kind: "share",
      series: perTier((sample, tier) => sample.tiers[tier]?.hit_rate),
    },
    {
      title: texts.evictions,
      unit: texts.blocks,
      kind: "count",
      series: perTier((sample, tier) => sample.tiers[tier]?.evictions_per_second),
    },
  ];
}

/** Return the chart of the bytes that enter and leave a tier. */
export function trafficChart({ id, colour }: Tier): ChartSpec {
  const texts = liveTexts();
  return {
    title: texts.traffic(tierTexts(id).name),
    unit: "",
    kind: "bytes",
    series: [
      { label: texts.in, colour, read: ({ tiers }) => tiers[id]?.bytes_in_per_second ?? null },
      { label: texts.out, colour, dashed: true, read: ({ tiers }) => tiers[id]?.bytes_out_per_second ?? null },
    ],
  };
}

/** Count the admitted requests that compute nothing now. */
export function waiting({ requests }: LiveSample): number {
  return requests.waiting + requests.preempted + requests.loading + requests.following;
}

/** Return the used share of a capacity; null without a limit. */
export function occupancy(used: number | undefined, capacity: number | undefined): number | null {
  return used === undefined || !capacity ? null : Math.min(1, used / capacity);
}
