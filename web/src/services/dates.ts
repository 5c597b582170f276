import type { Conversation } from "../services/types";

export type Period = "pinned" | "today" | "yesterday" | "week" | "older";

export interface Group {
  period: Period;
  conversations: Conversation[];
}

const DAY_MS = 86_400_000;

const PERIODS: readonly Period[] = ["pinned", "today", "yesterday", "week", "older"];

/** The list by when something was last said: pinned ones first, then by calendar days before `now`; no empty groups. */
export function grouped(conversations: readonly Conversation[], now: Date): Group[] {
  const groups = new Map<Period, Conversation[]>(PERIODS.map((period) => [period, []]));
  for (const conversation of conversations) {
    const period = conversation.pinned ? "pinned" : periodOf(new Date(conversation.updated_at * 1_000), now);
    groups.get(period)!.push(conversation);
  }
  return [...groups].flatMap(([period, chats]) => (chats.length > 0 ? [{ period, conversations: chats }] : []));
}

function periodOf(time: Date, now: Date): Period {
  // Rounded, as days that change their clocks are not all as long.
  const days = Math.round((midnight(now) - midnight(time)) / DAY_MS);
  if (days <= 0) return "today";
  if (days === 1) return "yesterday";
  return days <= 7 ? "week" : "older";
}

function midnight(time: Date): number {
  return new Date(time.getFullYear(), time.getMonth(), time.getDate()).getTime();
}
