import { language } from "../../i18n/language.svelte";
import { isSpaced } from "../../i18n/languages";

/** Return the text between two sentences. */
export function sentenceGap(): string {
  return isSpaced(language.current) ? " " : "";
}

/** Join sentences, without the empty ones. */
export function sentences(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(sentenceGap());
}
