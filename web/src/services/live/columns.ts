import type { LiveSample } from "../api/types";

/** Length of the history that is kept and drawn. */
export const SHOWN_SECONDS = 300;

/** One number of a sample; null where it is unknown. */
export type Metric = (sample: LiveSample) => number | null;

/** Longest time between two samples of one line. A longer silence is drawn as a gap. */
const MAX_STEP_SECONDS = 2.5;

/** Columns of a chart: the times, then one column for each metric. */
export type Columns = [number[], ...(number | null)[][]];

/** Return the columns of some metrics. */
export function columns(samples: readonly LiveSample[], metrics: readonly Metric[]): Columns {
  const times: number[] = [];
  const values = metrics.map((): (number | null)[] => []);
  for (const sample of samples) {
    const before = times.at(-1);
    if (before !== undefined && sample.at - before > MAX_STEP_SECONDS) {
      times.push((before + sample.at) / 2);
      for (const column of values) column.push(null);
    }
    times.push(sample.at);
    metrics.forEach((read, index) => values[index]!.push(read(sample)));
  }
  return [times, ...values];
}

/** Return the columns of a stacked chart, in which each series is drawn on top of those after it. An unknown value adds nothing. */
export function stacked([times, ...values]: Columns): Columns {
  const below = times.map(() => 0);
  const add = (value: number | null, at: number) => (value === null ? null : (below[at]! += value));
  return [times, ...values.reverse().map((column) => column.map(add)).reverse()];
}

/** Return the last number of a column, and the mean and the maximum of the known ones. */
export function summary(samples: readonly LiveSample[], read: Metric): { now: number | null; mean: number | null; most: number | null } {
  const known = samples.map(read).filter((value) => value !== null);
  if (known.length === 0) return { now: null, mean: null, most: null };
  const sum = known.reduce((total, value) => total + value, 0);
  return { now: read(samples.at(-1)!), mean: sum / known.length, most: Math.max(...known) };
}
