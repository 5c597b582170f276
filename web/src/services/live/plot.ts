import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { t } from "../../i18n/language.svelte";
import { inWords, type ChartSpec, type Kind, type Series } from "./charts";
import { SHOWN_SECONDS } from "./columns";

/** Colours as the style sheet has them now: of each series in turn, of the axes' text, of the grid. */
export interface Colours {
  series: (index: number) => string;
  text: () => string;
  grid: () => string;
}

/** What little is known at first is not lost in an empty chart. */
const SHORTEST_SECONDS = 60;
const FONT = "12px system-ui, sans-serif";

/** The least that a scale reaches up to, and what its steps may be. */
const SCALES: Record<Kind, { least: number; steps: number[]; size: number }> = {
  count: { least: 1, steps: Array.from({ length: 30 }, (_, index) => [1, 2, 5][index % 3]! * 10 ** Math.floor(index / 3)), size: 40 },
  share: { least: 1, steps: [0.5], size: 40 },
  bytes: { least: 1024, steps: Array.from({ length: 50 }, (_, power) => 2 ** power), size: 68 },
};

/** What uPlot is told of a chart. hover: gets the index of the times under the pointer, null if it is elsewhere. */
export function plotOptions(spec: ChartSpec, colours: Colours, hover: (index: number | null) => void): uPlot.Options {
  const { least, steps, size } = SCALES[spec.kind];
  const isFilled = ({ dashed }: Series) => !dashed && (spec.series.length === 1 || spec.kind === "bytes");
  return {
    width: 1,
    height: 1,
    padding: [8, 14, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 }, sync: { key: "live" } },
    scales: {
      x: { range: (_plot, first, last) => [Math.max(last - SHOWN_SECONDS, Math.min(first, last - SHORTEST_SECONDS)), last] },
      y: { range: (_plot, _least, most) => [0, spec.kind === "share" ? 1 : Math.max(least, most * 1.1)] },
    },
    axes: [
      {
        font: FONT,
        size: 20,
        gap: 4,
        stroke: colours.text,
        grid: { show: false },
        ticks: { show: false },
        splits: (_plot, _axis, first, last) => marks(last - first).map((seconds) => last - seconds),
        values: (plot) => marks(plot.scales["x"]!.max! - plot.scales["x"]!.min!).map(ago),
      },
      {
        font: FONT,
        size,
        gap: 6,
        space: 34,
        incrs: steps,
        stroke: colours.text,
        grid: { stroke: colours.grid, width: 1 },
        ticks: { show: false },
        values: (_plot, values) => values.map((value) => inWords(spec.kind, value)),
      },
    ],
    series: [
      {},
      ...spec.series.map((series, index): uPlot.Series => ({
        width: spec.stacked ? 1 : 2,
        stroke: () => colours.series(index),
        points: { show: false },
        ...(spec.stacked && { fill: () => colours.series(index) }),
        ...(isFilled(series) && { fill: () => faint(colours.series(index)) }),
        ...(series.dashed && { dash: [5, 4] }),
      })),
    ],
    hooks: { setCursor: [(plot) => hover(plot.cursor.idx ?? null)] },
  };
}

/** Columns of a stacked chart: each series stands on those behind it. */
export function stacked([times, ...values]: [number[], ...(number | null)[][]]): [number[], ...(number | null)[][]] {
  const sums = [...values];
  for (let index = sums.length - 2; index >= 0; index--) {
    const below = sums[index + 1]!;
    sums[index] = sums[index]!.map((value, at) => (value === null ? null : value + (below[at] ?? 0)));
  }
  return [times, ...sums];
}

/** Seconds before the newest sample that are named below a chart of so many, the longest ago first. */
function marks(span: number): number[] {
  const step = span < 100 ? 30 : span < 200 ? 60 : 120;
  return Array.from({ length: Math.floor((span - 5) / step) + 1 }, (_, index) => index * step).reverse();
}

function ago(seconds: number): string {
  if (seconds === 0) return t().live.now;
  return seconds < 60 ? t().live.secondsAgo(seconds) : t().live.minutesAgo(seconds / 60);
}

/** The build writes colours as `lab()`; the old notations with commas take no alpha like this. */
function faint(colour: string): string {
  return colour.includes(",") ? "transparent" : colour.replace(")", " / 0.14)");
}
