import { en, type Catalogue } from "./en";
import { zh } from "./zh";

export type Language = "en" | "zh";

const CATALOGUES: Record<Language, Catalogue> = { en, zh };
const KEPT = "ebb-language";

/** The language of the page: one, as there is one document. Chosen here, else the first of the browser's that is known. */
class PageLanguage {
  current = $state<Language>(chosen());
  readonly catalogue = $derived(CATALOGUES[this.current]);

  choose(language: Language): void {
    localStorage.setItem(KEPT, language);
    this.current = language;
  }
}

export const language = new PageLanguage();

/** The sentences of the page in its language; what reads them is drawn again when the language changes. */
export function t(): Catalogue {
  return language.catalogue;
}

function chosen(): Language {
  const known = [localStorage.getItem(KEPT), ...navigator.languages].map((tag) => tag?.slice(0, 2));
  return known.find((tag): tag is Language => tag === "en" || tag === "zh") ?? "en";
}
