import { t } from "../../i18n/language.svelte";
import { sentences } from "./sentences";

/** Return what a person reads where a part of the page cannot be loaded. */
export function incompletePage(): string {
  return sentences(t().errors.page, t().errors.reload);
}
