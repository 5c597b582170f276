import { language } from "../../i18n/language.svelte";

/** Join phrases into a list: "a, b, and c". */
export function list(phrases: readonly string[]): string {
  return new Intl.ListFormat(language.locale, { type: "conjunction" }).format(phrases);
}
