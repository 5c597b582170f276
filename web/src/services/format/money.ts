import { language } from "../../i18n/language.svelte";
import type { TokenPrices } from "../api/types";

/** Number of tokens that a price is for. */
const PRICED_TOKENS = 1_000_000;
/** Amounts below this have two significant digits, so that no answer seems to be free. */
const SMALL = 0.01;

/** Return what an answer costs. cached: part of the prompt that was not computed again. */
export function costOf(prices: TokenPrices, prompt: number, cached: number, written: number): number {
  return ((prompt - cached) * prices.input + cached * prices.cached + written * prices.output) / PRICED_TOKENS;
}

/** Format an amount of money. */
export function money(amount: number, currency: string): string {
  const digits = amount > 0 && amount < SMALL ? { maximumSignificantDigits: 2 } : { minimumFractionDigits: 2, maximumFractionDigits: 2 };
  return new Intl.NumberFormat(language.locale, { style: "currency", currency, ...digits }).format(amount);
}
