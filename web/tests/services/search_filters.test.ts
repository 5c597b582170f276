import { describe, expect, it } from "vitest";

import { countOf, NO_FILTERS, searchParameters } from "../../src/services/search_filters";

const NOW = new Date(2026, 1, 3, 15, 30);
const seconds = (year: number, month: number, day: number) => new Date(year, month, day).getTime() / 1_000;

describe("search filters", () => {
  it("become parameters, with days of the browser's time zone", () => {
    expect(searchParameters(NO_FILTERS, NOW)).toEqual({});
    expect(searchParameters({ ...NO_FILTERS, period: "day" }, NOW)).toEqual({ since: seconds(2026, 1, 3) });
    expect(searchParameters({ ...NO_FILTERS, period: "week" }, NOW)).toEqual({ since: seconds(2026, 0, 27) });
    const range = { ...NO_FILTERS, period: "range", from: "2026-01-30", to: "2026-01-31" } as const;
    expect(searchParameters(range, NOW)).toEqual({ since: seconds(2026, 0, 30), until: seconds(2026, 1, 1) });
    const rest = { ...NO_FILTERS, role: "user", folder: "folder_1", tag: "sea", archived: "false" } as const;
    expect(searchParameters(rest, NOW)).toEqual({ role: "user", folder_id: "folder_1", tag: "sea", archived: "false" });
  });

  it("count those that narrow the search, and dates only within a range", () => {
    expect(countOf(NO_FILTERS)).toBe(0);
    expect(countOf({ ...NO_FILTERS, period: "range" })).toBe(0);
    expect(countOf({ ...NO_FILTERS, period: "range", to: "2026-01-31", role: "assistant", archived: "true" })).toBe(3);
    expect(searchParameters({ ...NO_FILTERS, from: "2026-01-31" }, NOW)).toEqual({});
  });
});
