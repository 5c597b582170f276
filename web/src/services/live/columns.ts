import type { LiveSample } from "../api/types";

/** How much of the past is kept and drawn. */
export const SHOWN_SECONDS = 300;

/** A number of a sample; null where it is not known. */
export type Read = (sample: LiveSample) => number | null;

/** Between two samples; a longer silence is drawn as a gap. */
const LONGEST_STEP_SECONDS = 2.5;

/** Columns of numbers as a chart takes them: the times, then one for each of `reads`. */
export function columns(samples: readonly LiveSample[], reads: readonly Read[]): [number[], ...(number | null)[][]] {
  const times: number[] = [];
  const values = reads.map((): (number | null)[] => []);
  for (const sample of samples) {
    const before = times.at(-1);
    if (before !== undefined && sample.at - before > LONGEST_STEP_SECONDS) {
      times.push((before + sample.at) / 2);
      for (const column of values) column.push(null);
    }
    times.push(sample.at);
    reads.forEach((read, index) => values[index]!.push(read(sample)));
  }
  return [times, ...values];
}

/** What a column says in short: its last number, the mean and the most of those that are known. */
export function summary(samples: readonly LiveSample[], read: Read): { now: number | null; mean: number | null; most: number | null } {
  const known = samples.map(read).filter((value) => value !== null);
  if (known.length === 0) return { now: null, mean: null, most: null };
  const sum = known.reduce((total, value) => total + value, 0);
  return { now: read(samples.at(-1)!), mean: sum / known.length, most: Math.max(...known) };
}
