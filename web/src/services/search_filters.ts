import type { SearchParameters } from "./api/types";

/** Period of the messages to find. "range" is given by two dates. */
export type SearchPeriod = "any" | "day" | "week" | "month" | "year" | "range";

export const SEARCH_PERIODS: readonly SearchPeriod[] = ["any", "day", "week", "month", "year", "range"];

/** Choices of a person who searches. An empty text is no choice. */
export interface SearchFilters {
  role: "" | "user" | "assistant";
  period: SearchPeriod;
  /** First and last day of a range, such as "2026-02-28". */
  from: string;
  to: string;
  folder: string;
  tag: string;
  archived: "" | "false" | "true";
}

export const NO_FILTERS: Readonly<SearchFilters> = { role: "", period: "any", from: "", to: "", folder: "", tag: "", archived: "" };

const DAYS: Partial<Record<SearchPeriod, number>> = { day: 0, week: 7, month: 30, year: 365 };

/** Count the choices that narrow the search. A range without dates does not. */
export function countOf({ role, period, from, to, folder, tag, archived }: SearchFilters): number {
  const dated = period === "range" ? from !== "" || to !== "" : period !== "any";
  return [role, folder, tag, archived].filter((choice) => choice !== "").length + (dated ? 1 : 0);
}

/** Return the parameters of a search. Days are those of the browser's time zone. */
export function searchParameters(filters: SearchFilters, now: Date): SearchParameters {
  const { role, period, from, to, folder, tag, archived } = filters;
  const days = DAYS[period];
  const since = days !== undefined ? startOfDay(now, -days) : period === "range" ? dayOf(from, 0) : null;
  const until = period === "range" ? dayOf(to, 1) : null;
  return {
    ...(role === "" ? {} : { role }),
    ...(since === null ? {} : { since }),
    ...(until === null ? {} : { until }),
    ...(folder === "" ? {} : { folder_id: folder }),
    ...(tag === "" ? {} : { tag }),
    ...(archived === "" ? {} : { archived }),
  };
}

/** Return the start of a given day, or of one `later`, in seconds; null without a day. */
function dayOf(day: string, later: number): number | null {
  const time = new Date(`${day}T00:00`);
  return Number.isNaN(time.getTime()) ? null : startOfDay(time, later);
}

function startOfDay(time: Date, later: number): number {
  return new Date(time.getFullYear(), time.getMonth(), time.getDate() + later).getTime() / 1_000;
}
