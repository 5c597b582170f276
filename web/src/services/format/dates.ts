import { language } from "../../i18n/language.svelte";
import type { Conversation } from "../api/types";

export type Period = "pinned" | "today" | "yesterday" | "week";

export interface Group {
  /** Of what is older than a week the month, as in "2026-02". */
  period: Period | `${number}-${number}`;
  conversations: Conversation[];
}

const DAY_MS = 86_400_000;

/**
 * The list by when something was last said: pinned ones first, then by calendar days before `now`, at last by months; no
 * empty groups. conversations: pinned ones first, then the newest.
 */
export function grouped(conversations: readonly Conversation[], now: Date): Group[] {
  const groups = Map.groupBy(conversations, ({ pinned, updated_at }) =>
    pinned ? "pinned" : periodOf(new Date(updated_at * 1_000), now),
  );
  return [...groups].map(([period, chats]) => ({ period, conversations: chats }));
}

/** A month as in "2026-02" in words: with its year where that is not the one of `now`. */
export function monthName(month: string, now: Date): string {
  const time = new Date(`${month}-01T00:00`);
  const year = time.getFullYear() === now.getFullYear() ? undefined : "numeric";
  return new Intl.DateTimeFormat(locale(), { month: "long", year }).format(time);
}

/** When something was said, in seconds since 1970: the time of day; before today with the day, and its year if another. */
export function moment(seconds: number, now: Date): string {
  const time = new Date(seconds * 1_000);
  const day = midnight(time) === midnight(now) ? {} : ({ day: "numeric", month: "short" } as const);
  const year = time.getFullYear() === now.getFullYear() ? {} : ({ year: "numeric" } as const);
  return new Intl.DateTimeFormat(locale(), { hour: "numeric", minute: "2-digit", ...day, ...year }).format(time);
}

/** The page's language as it is written where the person lives, if the browser says. */
function locale(): string {
  return navigator.languages.find((tag) => tag.startsWith(language.current)) ?? language.current;
}

function periodOf(time: Date, now: Date): Group["period"] {
  // Rounded, as days that change their clocks are not all as long.
  const days = Math.round((midnight(now) - midnight(time)) / DAY_MS);
  if (days <= 0) return "today";
  if (days === 1) return "yesterday";
  if (days <= 7) return "week";
  return `${time.getFullYear()}-${String(time.getMonth() + 1).padStart(2, "0") as `${number}`}`;
}

function midnight(time: Date): number {
  return new Date(time.getFullYear(), time.getMonth(), time.getDate()).getTime();
}
