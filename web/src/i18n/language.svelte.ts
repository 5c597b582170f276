import type { Catalogue } from "./en";

export type Language = "en" | "zh";

const CATALOGUES: Record<Language, () => Promise<Catalogue>> = {
  en: () => import("./en").then(({ en }) => en),
  zh: () => import("./zh").then(({ zh }) => zh),
};
const STORED = "ebb-language";

/** The language of the page: the one chosen here, else the browser's first known one. */
class PageLanguage {
  current = $state<Language>(initial());
  /** Texts in the current language, once `load` has resolved. */
  catalogue = $state.raw<Catalogue>();

  /** Load the texts of the current language. The page can be drawn afterwards. */
  async load(): Promise<void> {
    this.catalogue ??= await CATALOGUES[this.current]();
  }

  /** Switch to a language once its texts are loaded. Rejects if they cannot be loaded. */
  async choose(language: Language): Promise<void> {
    const catalogue = await CATALOGUES[language]();
    localStorage.setItem(STORED, language);
    this.current = language;
    this.catalogue = catalogue;
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
  return language.catalogue!;
}

/** Return a function that returns the texts of a view in the page's language. For views that are loaded lazily, with `texts`. */
export function textsOf<Texts>(texts: Record<Language, Texts>): () => Texts {
  return () => texts[language.current];
}

function initial(): Language {
  const known = [localStorage.getItem(STORED), ...navigator.languages].map((tag) => tag?.slice(0, 2));
  return known.find((tag): tag is Language => tag === "en" || tag === "zh") ?? "en";
}
