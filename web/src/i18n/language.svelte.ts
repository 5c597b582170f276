import type { Catalogue } from "./en";

/** Languages of the page, by their own names. The keys are tags of BCP 47. */
export const LANGUAGES = {
  de: "Deutsch",
  en: "English",
  es: "Español",
  fr: "Français",
  it: "Italiano",
  ja: "日本語",
  ko: "한국어",
  pt: "Português (Brasil)",
  ru: "Русский",
  zh: "简体中文",
};

export type Language = keyof typeof LANGUAGES;

const STORED = "ebb-language";

/** Modules with some texts, one for each language. Each exports its texts under the name of its language. */
type Modules<Texts> = { [L in Language]: () => Promise<{ [Name in L]: Texts }> };

/** Texts of the page or of a view, in the languages that were needed so far. */
class Catalogues<Texts> {
  private readonly loaded: Partial<Record<Language, Texts>> = {};

  constructor(private readonly modules: Modules<Texts>) {}

  has(tag: Language): boolean {
    return tag in this.loaded;
  }

  in(tag: Language): Texts {
    return this.loaded[tag]!;
  }

  async load(tag: Language): Promise<void> {
    if (this.has(tag)) return;
    const module: Partial<Record<Language, Texts>> = await this.modules[tag]();
    this.loaded[tag] = module[tag]!;
  }
}

/** The language of the page: the one chosen here, else the browser's first known one. */
class PageLanguage {
  current = $state<Language>(initial());
  /** The current language with the browser's region, as in "de-CH". */
  readonly locale = $derived(navigator.languages.find((wanted) => languageOf(wanted) === this.current) ?? this.current);

  private readonly catalogues: Catalogues<unknown>[] = [];

  /** Know the texts of a view that is about to be shown. `load` loads them, and every later language has them. */
  add(catalogues: Catalogues<unknown>): void {
    this.catalogues.push(catalogues);
  }

  /** Load all known texts in the current language. Views that need them can be drawn afterwards. */
  load(): Promise<void> {
    return this.loadAll(this.current);
  }

  /** Switch to a language once its texts are loaded. Rejects if they cannot be loaded. */
  async choose(chosen: Language): Promise<void> {
    await this.loadAll(chosen);
    localStorage.setItem(STORED, chosen);
    this.current = chosen;
  }

  /** Keep the language of the document up to date. Return the function that stops this. */
  start(): () => void {
    return $effect.root(() => {
      $effect(() => void (document.documentElement.lang = this.current));
    });
  }

  private async loadAll(tag: Language): Promise<void> {
    // A view that is loaded at the same time adds texts.
    while (this.catalogues.some((catalogues) => !catalogues.has(tag))) {
      await Promise.all(this.catalogues.map((catalogues) => catalogues.load(tag)));
    }
  }
}

export const language = new PageLanguage();

/** Return the texts of the page in its language. Readers are drawn again when the language changes. */
export const t = textsOf<Catalogue>({
  de: () => import("./de"),
  en: () => import("./en"),
  es: () => import("./es"),
  fr: () => import("./fr"),
  it: () => import("./it"),
  ja: () => import("./ja"),
  ko: () => import("./ko"),
  pt: () => import("./pt"),
  ru: () => import("./ru"),
  zh: () => import("./zh"),
});

/** Return a function that returns texts in the page's language. A view that is loaded lazily needs `withTexts`, too. */
export function textsOf<Texts>(modules: Modules<Texts>): () => Texts {
  const catalogues = new Catalogues(modules);
  language.add(catalogues);
  return () => catalogues.in(language.current);
}

/** Wait for a module and for the texts that it names. Rejects if either cannot be loaded. */
export async function withTexts<Module>(loading: Promise<Module>): Promise<Module> {
  const module = await loading;
  await language.load();
  return module;
}

/** Return the language of the page for a language tag. Regions make no difference. */
function languageOf(tag: string): Language | null {
  const base = tag.split("-")[0]!.toLowerCase();
  return base in LANGUAGES ? (base as Language) : null;
}

function initial(): Language {
  const wanted = [localStorage.getItem(STORED) ?? "", ...navigator.languages].map(languageOf);
  return wanted.find((known) => known !== null) ?? "en";
}
