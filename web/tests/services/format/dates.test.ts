import { expect, test } from "vitest";

import { dayOrTime, moment } from "../../../src/services/format/dates";

const NOW = new Date(2026, 5, 15, 18, 30);
const seconds = (...at: [number, number, number, number, number]) => new Date(...at).getTime() / 1_000;
const TODAY = seconds(2026, 5, 15, 9, 5);
const MAY = seconds(2026, 4, 2, 9, 5);
const LAST_YEAR = seconds(2025, 4, 2, 9, 5);

test("a moment before today has its day, and before this year its year", () => {
  expect([TODAY, MAY, LAST_YEAR].map((at) => moment(at, NOW).replaceAll("\u202f", " "))).toEqual([
    "9:05 AM",
    "May 2, 9:05 AM",
    "May 2, 2025, 9:05 AM",
  ]);
});

test("where room is scarce, a day before today has no time", () => {
  expect([TODAY, MAY, LAST_YEAR].map((at) => dayOrTime(at, NOW).replaceAll("\u202f", " "))).toEqual(["9:05 AM", "May 2", "May 2, 2025"]);
});
