import { describe, expect, it } from "vitest";

import { periodOf } from "../../../src/services/format/dates";
import { headingsOf, ListLayout } from "../../../src/services/chat/list_layout";
import { conversation } from "../../fake_server";

const NOW = new Date("2026-03-10T12:00");
const HEIGHTS = { row: 40, heading: 30 };
const SECOND = NOW.getTime() / 1_000;
const DAY = 86_400;

/** Rows of three of today, two of yesterday, and one of a year before, the fourth one unread. */
const rows = [0, 0, 0, undefined, 1, 400].map((days, at) =>
  days === undefined ? undefined : conversation({ id: `${at}`, updated_at: SECOND - days * DAY }),
);
const headings = headingsOf(rows, NOW);
const layout = new ListLayout(rows, headings, HEIGHTS);
const draw = (places: number[]) => layout.draw(places, (row) => periodOf(row, NOW));

describe("the layout of the list", () => {
  it("has a heading where a period begins, and after a gap", () => {
    expect(headings).toEqual([{ at: 0, period: "today" }, { at: 4, period: "yesterday" }, { at: 5, period: "2025-02" }]);
    expect([0, 1, 4, 5].map((at) => layout.topOf(at))).toEqual([30, 70, 220, 290]);
    expect(layout.height).toBe(330);
    const gap = headingsOf([rows[0], undefined, rows[1]], NOW);
    expect(gap).toEqual([{ at: 0, period: "today" }, { at: 2, period: "today" }]);
  });

  it("finds the row at a distance, within the list", () => {
    expect([-100, 0, 69, 70, 289, 290, 9_999].map((top) => layout.placeAt(top))).toEqual([0, 0, 0, 1, 4, 5, 5]);
    expect(new ListLayout([], [], HEIGHTS).placeAt(50)).toBe(0);
  });

  it("draws rows with their headings, and space in place of the others", () => {
    const { parts, below } = draw([1, 3, 4, 5]);
    expect(parts.map(({ heading, rows: drawn }) => [heading, drawn.map(({ at, gap }) => [at, gap])])).toEqual([
      [{ period: "today", gap: 0 }, [[1, 40]]],
      [{ period: "yesterday", gap: 80 }, [[4, 0]]],
      [{ period: "2025-02", gap: 0 }, [[5, 0]]],
    ]);
    expect(below).toBe(0);
    expect(draw([0]).below).toBe(layout.height - 70);
  });

  it("draws one part without headings in the archive", () => {
    const plain = new ListLayout(rows, [], HEIGHTS).draw([0, 5], null);
    expect(plain.parts.map(({ heading, rows: drawn }) => [heading, drawn.map(({ at, gap }) => [at, gap])])).toEqual([[null, [[0, 0], [5, 160]]]]);
  });

  it("has distinct keys even if a period appears twice", () => {
    const mixed = [0, 400, 0].map((days, at) => conversation({ id: `${at}`, updated_at: SECOND - days * DAY }));
    const { parts } = new ListLayout(mixed, headingsOf(mixed, NOW), HEIGHTS).draw([0, 1, 2], (row) => periodOf(row, NOW));
    expect(new Set(parts.map(({ key }) => key)).size).toBe(3);
  });
});
