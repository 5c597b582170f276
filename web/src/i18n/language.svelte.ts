import { browserStorage, whenStored } from "../services/browser_storage";
import type { Catalogue } from "./en/page";
import { withEnglish, type PartialTexts } from "./fallback";
import { COMPLETE, directionOf, languageOf, type Language } from "./languages";

const STORED = "ebb-language";

/** Loaders of some texts, by the paths of their modules: `./LANGUAGE/VIEW.ts`. */
type Loaders<Texts> = Record<string, () => Promise<PartialTexts<Texts>>>;

/** Texts of the page or of a view, in the languages that were needed so far. English fills the gaps of the others. */
class Catalogues<Texts> {
  private readonly loaders: Loaders<Texts>;
  private readonly loaded: Partial<Record<Language, Texts>> = {};

  constructor(loaders: Loaders<Texts>) {
    this.loaders = Object.fromEntries(Object.entries(loaders).map(([path, load]) => [path.split("/").at(-2)!, load]));
  }

  has(tag: Language): boolean {
    return tag in this.loaded;
  }

  in(tag: Language): Texts {
    return this.loaded[tag]!;
  }

  async load(tag: Language): Promise<void> {
    if (!this.has(tag)) this.loaded[tag] = await this.textsOf(tag);
  }

  private async textsOf(tag: Language): Promise<Texts> {
    const own = this.loaders[tag];
    if (COMPLETE.includes(tag)) return (await own!()) as Texts;
    const [texts, english] = await Promise.all([own?.() ?? ({} as PartialTexts<Texts>), this.loaders["en"]!()]);
    return withEnglish(texts, english as Texts, tag);
  }
}

/** The language of the page: the one chosen here, else the browser's first known one. */
class PageLanguage {
  current = $state<Language>(initial());
  /** The current language with the browser's region, as in "de-CH", and with the digits that the texts have. */
  readonly locale = $derived(withTextDigits(navigator.languages.find((wanted) => languageOf(wanted) === this.current) ?? this.current));

  /** The language that was last asked for. */
  private wanted: Language = this.current;
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
    await this.show(chosen);
    if (this.wanted === chosen) browserStorage.put(STORED, chosen);
  }

  /**
   * Follow the choice of other tabs, and keep the language and the direction of the document up to date. Return the
   * function that stops this.
   */
  start(): () => void {
    const unfollow = whenStored([STORED], () => void this.show(initial()).catch(() => undefined));
    const release = $effect.root(() => {
      $effect(() => {
        document.documentElement.lang = this.current;
        document.documentElement.dir = directionOf(this.current);
      });
    });
    return () => {
      unfollow();
      release();
    };
  }

  /** Show a language once its texts are loaded, unless another one was wanted since. */
  private async show(chosen: Language): Promise<void> {
    this.wanted = chosen;
    await this.loadAll(chosen);
    if (this.wanted === chosen) this.current = chosen;
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
export const t = textsOf(import.meta.glob<Catalogue>("./*/page.ts", { import: "texts" }));

/** Return a function that returns texts in the page's language. A view that is loaded lazily needs `withTexts`, too. */
export function textsOf<Texts>(loaders: Loaders<Texts>): () => Texts {
  const catalogues = new Catalogues(loaders);
  language.add(catalogues);
  return () => catalogues.in(language.current);
}

/** Wait for a module and for the texts that it names. Rejects if either cannot be loaded. */
export async function withTexts<Module>(loading: Promise<Module>): Promise<Module> {
  const module = await loading;
  await language.load();
  return module;
}

/** Numbers within texts are written with Latin digits in all languages. */
function withTextDigits(tag: string): string {
  return new Intl.Locale(tag, { numberingSystem: "latn" }).toString();
}

function initial(): Language {
  const wanted = [browserStorage.get(STORED) ?? "", ...navigator.languages].map(languageOf);
  return wanted.find((known) => known !== null) ?? "en";
}
