import { language } from "../../i18n/language.svelte";
import type { Conversation } from "../api/types";

/** Part of the list of chats: a named one, or the month of older chats, as in "2026-02". */
export type Period = "pinned" | "today" | "yesterday" | "week" | `${number}-${number}`;

const DAY_MS = 86_400_000;

/** Return the part of the list that a chat is in, by its last message: pinned, a calendar day before `now`, or a month. */
export function periodOf({ pinned, updated_at }: Pick<Conversation, "pinned" | "updated_at">, now: Date): Period {
  if (pinned) return "pinned";
  const time = new Date(updated_at * 1_000);
  // Rounded, because days on which the clocks change are shorter or longer.
  const days = Math.round((midnight(now) - midnight(time)) / DAY_MS);
  if (days <= 0) return "today";
  if (days === 1) return "yesterday";
  if (days <= 7) return "week";
  return `${time.getFullYear()}-${String(time.getMonth() + 1).padStart(2, "0") as `${number}`}`;
}

/** Format a month, given as "2026-02", with its year unless that is the year of `now`. */
export function monthName(month: string, now: Date): string {
  const time = new Date(`${month}-01T00:00`);
  const year = time.getFullYear() === now.getFullYear() ? undefined : "numeric";
  return new Intl.DateTimeFormat(language.locale, { month: "long", year }).format(time);
}

/** Format a Unix time in seconds as a time of day, with the day before today, and with the year before this year. */
export function moment(seconds: number, now: Date): string {
  const time = new Date(seconds * 1_000);
  return formatOf({ ...TIME, ...dayOf(time, now) }).format(time);
}

/** Format a Unix time in seconds as a time of day if it is today, else as the day, with the year before this year. */
export function dayOrTime(seconds: number, now: Date): string {
  const time = new Date(seconds * 1_000);
  return formatOf(dayOf(time, now) ?? TIME).format(time);
}

const TIME: Intl.DateTimeFormatOptions = { hour: "numeric", minute: "2-digit" };
const DAY: Intl.DateTimeFormatOptions = { day: "numeric", month: "short" };
const DAY_OF_YEAR: Intl.DateTimeFormatOptions = { ...DAY, year: "numeric" };

/** Return what tells the day of a time apart from other days. Undefined for today. */
function dayOf(time: Date, now: Date): Intl.DateTimeFormatOptions | undefined {
  if (time.getFullYear() !== now.getFullYear()) return DAY_OF_YEAR;
  return midnight(time) === midnight(now) ? undefined : DAY;
}

/** Formats by their key. Making one takes as long as drawing a short question. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = [language.locale, ...Object.keys(options)].join(" ");
  let format = formats.get(key);
  if (format === undefined) {
    format = new Intl.DateTimeFormat(language.locale, options);
    formats.set(key, format);
  }
  return format;
}

function midnight(time: Date): number {
  return new Date(time.getFullYear(), time.getMonth(), time.getDate()).getTime();
}
