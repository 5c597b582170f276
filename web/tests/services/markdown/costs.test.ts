import { readFileSync } from "node:fs";

import { expect, it } from "vitest";

import { GrowingText } from "../../../src/services/markdown/growing_text";
import { inlineTokens } from "../../../src/services/markdown/render";

interface Row {
  name: string;
  before?: string;
  unit: string;
  /** Text as often after the units. */
  then?: string;
  after?: string;
}

/** A maker of texts for each construct. The server tests its own parser by the same texts. */
const ROWS = JSON.parse(readFileSync("../tests/markdown/costs.json", "utf8")) as Row[];
const SIZE = process.env["EBB_TEST_SIZE"] === "full" ? 8_000 : 400;
/** Accepted growth of the time when the text becomes four times as long. A square would be 16. */
const MOST_GROWTH = 6;
/** Times below this one count as this one: until then, the collector of garbage has nothing to do. */
const LEAST_MS = 8;
/** Measurements of a ratio that is too high. */
const TRIES = 20;

it.each(ROWS)("takes time linear in the length of $name", (row) => {
  let [small, large] = [Infinity, Infinity];
  for (let tries = 0; tries < TRIES; tries++) {
    small = Math.min(small, time(made(row, SIZE)));
    large = Math.min(large, time(made(row, 4 * SIZE)));
    if (large / Math.max(LEAST_MS, small) <= MOST_GROWTH) return;
  }
  expect.fail(`from ${small} to ${large} ms`);
});

function made({ before = "", unit, then = "", after = "" }: Row, size: number): string {
  return before + unit.repeat(size) + then.repeat(size) + after;
}

/** Return the CPU time of this thread for the blocks and texts of `text`, in ms. */
function time(text: string): number {
  const began = process.threadCpuUsage();
  parseInlines(new GrowingText().update(text));
  const { user, system } = process.threadCpuUsage(began);
  return (user + system) / 1000;
}

/** Parse all texts among the parts of blocks. */
function parseInlines(part: unknown): void {
  if (typeof part !== "object" || part === null) return;
  if ("source" in part && "references" in part) inlineTokens(part as Parameters<typeof inlineTokens>[0]);
  else for (const inner of Object.values(part)) parseInlines(inner);
}
