import { en, type Catalogue } from "./en";
import { zh } from "./zh";

export type Language = "en" | "zh";

const CATALOGUES: Record<Language, Catalogue> = { en, zh };
const STORED = "ebb-language";

/** The language of the page: the one chosen here, else the browser's first known one. */
class PageLanguage {
  current = $state<Language>(initial());
  readonly catalogue = $derived(CATALOGUES[this.current]);

  choose(language: Language): void {
    localStorage.setItem(STORED, language);
    this.current = language;
  }

  /** Keep the document's `lang` attribute up to date. Return the function that stops this. */
  start(): () => void {
    return $effect.root(() => {
      $effect(() => {
        document.documentElement.lang = this.current;
      });
    });
  }
}

export const language = new PageLanguage();

/** Return the texts of the page in its language. Readers are drawn again when the language changes. */
export function t(): Catalogue {
  return language.catalogue;
}

function initial(): Language {
  const known = [localStorage.getItem(STORED), ...navigator.languages].map((tag) => tag?.slice(0, 2));
  return known.find((tag): tag is Language => tag === "en" || tag === "zh") ?? "en";
}
