import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { language } from "../words/words.svelte";
import type { ChartSpec } from "./live_charts";

/** Colours as the style sheet has them now: of each series in turn, of the axes' text, of the grid. */
export interface Colours {
  series: (index: number) => string;
  text: () => string;
  grid: () => string;
}

const WINDOW_SECONDS = 300;
const FONT = "12px system-ui, sans-serif";
const BINARY_STEPS = Array.from({ length: 50 }, (_, power) => 2 ** power);

/** What uPlot is told of a chart. hover: gets the index of the times under the pointer, null if it is elsewhere. */
export function plotOptions(spec: ChartSpec, colours: Colours, hover: (index: number | null) => void): uPlot.Options {
  const least = spec.bytes ? 1024 : 1;
  return {
    width: 1,
    height: 1,
    padding: [8, 4, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 }, sync: { key: "live" } },
    scales: {
      x: { range: (_plot, _least, last) => [last - WINDOW_SECONDS, last] },
      y: { range: (_plot, _least, most) => [0, spec.most ?? Math.max(least, most * 1.1)] },
    },
    axes: [
      {
        font: FONT,
        size: 24,
        gap: 4,
        space: 48,
        incrs: [60, 120, 300],
        stroke: colours.text,
        grid: { show: false },
        ticks: { show: false },
        values: (_plot, times) => times.map(clock),
      },
      {
        font: FONT,
        size: spec.bytes ? 68 : 44,
        gap: 6,
        space: 34,
        ...(spec.bytes && { incrs: BINARY_STEPS }),
        stroke: colours.text,
        grid: { stroke: colours.grid, width: 1 },
        ticks: { show: false },
        values: (_plot, values) => values.map(spec.format),
      },
    ],
    series: [
      {},
      ...spec.series.map(({ label, dashed }, index): uPlot.Series => ({
        label,
        width: spec.stacked ? 1 : 2,
        stroke: () => colours.series(index),
        points: { show: false },
        ...(spec.stacked && { fill: () => colours.series(index) }),
        ...(!spec.stacked && spec.series.length === 1 && { fill: () => faint(colours.series(index)) }),
        ...(dashed && { dash: [5, 4] }),
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

function clock(time: number): string {
  return new Intl.DateTimeFormat(language.current, { hour: "2-digit", minute: "2-digit", hour12: false }).format(time * 1_000);
}

function faint(colour: string): string {
  return colour.startsWith("oklch(") ? colour.replace(")", " / 0.14)") : "transparent";
}
