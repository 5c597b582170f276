import { language, t } from "../../i18n/language.svelte";
import { directionOf, isLatin } from "../../i18n/languages";

function whole(value: number): string {
  return new Intl.NumberFormat(language.locale).format(value);
}

/** Keep a number and its unit in the order of the unit's script, in a line from right to left as well. */
function isolated(joined: string): string {
  return directionOf(language.current) === "rtl" ? `\u2068${joined}\u2069` : joined;
}

function withUnit(number: string, unit: string): string {
  return isolated(`${number} ${unit}`);
}

const SYMBOLS = { second: "s", millisecond: "ms" } as const;

/** Format a time with the international symbol where letters are Latin, else with the language's own one. */
function time(value: number, unit: keyof typeof SYMBOLS, digits: Intl.NumberFormatOptions): string {
  if (isLatin(language.current)) return withUnit(new Intl.NumberFormat(language.locale, digits).format(value), SYMBOLS[unit]);
  return isolated(new Intl.NumberFormat(language.locale, { style: "unit", unit, unitDisplay: "short", ...digits }).format(value));
}

/** Format a number with at most one decimal. */
export function decimal(value: number): string {
  return new Intl.NumberFormat(language.locale, { maximumFractionDigits: 1 }).format(value);
}

/** Format a whole number, with separators. */
export function count(value: number): string {
  return whole(value);
}

/** Format a number of tokens, as in "1,920 tokens". */
export function tokens(value: number): string {
  return t().receipt.tokens(value, whole(value));
}

/** Format milliseconds, as seconds from one second on. */
export function duration(ms: number): string {
  if (ms < 1) return t().receipt.under(time(1, "millisecond", {}));
  if (ms < 1_000) return time(Math.round(ms), "millisecond", {});
  return time(ms / 1_000, "second", { maximumFractionDigits: 1 });
}

/** Format milliseconds as seconds, with two decimals below ten seconds. */
export function seconds(ms: number): string {
  const digits = ms < 10_000 ? 2 : 0;
  return time(Math.max(0.01, ms / 1_000), "second", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Seconds up to which an estimate is not given in minutes. */
const MOST_SECONDS = 90;
/** Seconds to which longer estimates are rounded, so that the text is calm. */
const STEP_SECONDS = 5;

/** Format an estimate of the seconds left, which is rounded up. */
export function timeLeft(seconds: number): string {
  const step = seconds > 2 * STEP_SECONDS ? STEP_SECONDS : 1;
  const [value, unit] = seconds > MOST_SECONDS ? [seconds / 60, "minute"] : [Math.max(1, Math.ceil(seconds / step) * step), "second"];
  return new Intl.NumberFormat(language.locale, { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: 0 }).format(value);
}

/** Format a time of at least a minute, in hours from one hour on. */
export function longTime(seconds: number): string {
  const [value, unit, digits] = seconds >= 3600 ? [seconds / 3600, "hour", 1] : [seconds / 60, "minute", 0];
  const format = { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: digits } as const;
  return isolated(new Intl.NumberFormat(language.locale, format).format(value));
}

/** Format a number of bytes in KiB, MiB, GiB or TiB. */
export function bytes(value: number): string {
  return withUnit(...inUnit(value));
}

/** Format a rate or a mean, with one decimal below ten. */
export function quantity(value: number): string {
  return value < 10 ? decimal(value) : whole(Math.round(value));
}

export function bytesPerSecond(value: number): string {
  const [number, unit] = value < 1024 ? [whole(Math.round(value)), "B"] : inUnit(value);
  return withUnit(number, `${unit}/s`);
}

function inUnit(bytes: number): [number: string, unit: string] {
  if (bytes >= 1024 ** 4) return [decimal(bytes / 1024 ** 4), "TiB"];
  if (bytes >= 1024 ** 3) return [decimal(bytes / 1024 ** 3), "GiB"];
  if (bytes >= 1024 ** 2) return [whole(Math.round(bytes / 1024 ** 2)), "MiB"];
  return [whole(Math.round(bytes / 1024)), "KiB"];
}

/** Format a share of one as a percentage. */
export function percent(share: number): string {
  return new Intl.NumberFormat(language.locale, { style: "percent" }).format(share);
}
