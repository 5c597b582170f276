import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { liveTexts } from "../../i18n/live";
import { formatValue, type ChartSpec, type Kind, type Series } from "./charts";
import { SHOWN_SECONDS } from "./columns";

/** Current colours of the style sheet: of each series by its index, of the axes' text, and of the grid. */
export interface Colours {
  series: (index: number) => string;
  text: () => string;
  grid: () => string;
}

/** Least width of a chart, so that the first samples fill a visible part of it. */
const MIN_SECONDS = 60;
const FONT = "12px system-ui, sans-serif";

/** Lowest upper end of a scale, its possible steps, and the width of its labels in px. */
const SCALES: Record<Kind, { min: number; steps: number[]; size: number }> = {
  count: { min: 1, steps: Array.from({ length: 30 }, (_, index) => [1, 2, 5][index % 3]! * 10 ** Math.floor(index / 3)), size: 40 },
  share: { min: 1, steps: [0.5], size: 40 },
  bytes: { min: 1024, steps: Array.from({ length: 50 }, (_, power) => 2 ** power), size: 68 },
};

/** Return uPlot's options for a chart. hover: receives the index of the time under the pointer; null elsewhere. */
export function plotOptions(spec: ChartSpec, colours: Colours, hover: (index: number | null) => void): uPlot.Options {
  const { min, steps, size } = SCALES[spec.kind];
  const isFilled = ({ dashed }: Series) => !dashed && (spec.series.length === 1 || spec.kind === "bytes");
  return {
    width: 1,
    height: 1,
    padding: [8, 14, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 }, sync: { key: "live" } },
    scales: {
      x: { range: (_plot, first, last) => [Math.max(last - SHOWN_SECONDS, Math.min(first, last - MIN_SECONDS)), last] },
      y: { range: (_plot, _min, max) => [0, spec.kind === "share" ? 1 : Math.max(min, max * 1.1)] },
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
        values: (_plot, values) => values.map((value) => formatValue(spec.kind, value)),
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

/** Return the labelled times below a chart of `span` seconds, as seconds before the newest sample, the oldest first. */
function marks(span: number): number[] {
  const step = span < 100 ? 30 : span < 200 ? 60 : 120;
  return Array.from({ length: Math.floor((span - 5) / step) + 1 }, (_, index) => index * step).reverse();
}

function ago(seconds: number): string {
  if (seconds === 0) return liveTexts().now;
  return seconds < 60 ? liveTexts().secondsAgo(seconds) : liveTexts().minutesAgo(seconds / 60);
}

/** Make a colour translucent. The build writes colours as `lab()`; notations with commas take no alpha like this. */
function faint(colour: string): string {
  return colour.includes(",") ? "transparent" : colour.replace(")", " / 0.14)");
}
