import { COMPLETE, LANGUAGES, type Language } from "../../src/i18n/languages";

/** Modules with texts, by path. Apart from `texts`, they export sentences by the server's codes. */
const MODULES = import.meta.glob<Record<string, object>>("../../src/i18n/*/*.ts", { eager: true });

/** Texts of the pages of shared chats, which the server renders. */
const SHARED_PAGES = import.meta.glob<object>("../../../app/conversations/shared_page_languages/*.json", { eager: true, import: "default" });

export const TAGS = Object.keys(LANGUAGES) as Language[];
export const VIEWS = Object.keys(MODULES).flatMap((path) => /i18n\/en\/(.*)\.ts$/.exec(path)?.[1] ?? []);

/** Values that no text contains. */
export const GIVEN = ["‹0›", "‹1›", "‹2›"];

/** Return the texts of a view in a language, by their paths. A text with parameters has `GIVEN` filled in. */
export function textsIn(view: string, tag: Language): Map<string, string> {
  return new Map(leaves(MODULES[`../../src/i18n/${tag}/${view}.ts`]?.["texts"] ?? {}));
}

/** List what a language lacks of the texts that a complete one has: module, path and the English text. */
export function lackingIn(tag: Language): string[] {
  const own = allTextsIn(tag);
  const english = allTextsIn("en");
  // English has no sentences for codes: the server sends them in English.
  const wanted = new Set([...english.keys(), ...COMPLETE.flatMap((complete) => [...allTextsIn(complete).keys()])]);
  return [...wanted].filter((path) => !own.has(path)).map((path) => `${path}  ${english.get(path) ?? ""}`.trim());
}

function allTextsIn(tag: Language): Map<string, string> {
  const views = VIEWS.map((view) => [view, MODULES[`../../src/i18n/${tag}/${view}.ts`] ?? {}] as const);
  const sharedPage = ["shared page", SHARED_PAGES[`../../../app/conversations/shared_page_languages/${tag}.json`] ?? {}] as const;
  return new Map([...views, sharedPage].flatMap(([view, texts]) => leaves(texts).map(([path, text]) => [`${view}: ${path.replace(/^texts\./, "")}`, text] as const)));
}

function leaves(value: object, at = ""): [string, string][] {
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) => {
    const path = at === "" ? name : `${at}.${name}`;
    const filled: unknown = typeof inner === "function" ? inner(...GIVEN) : inner;
    return typeof filled === "object" && filled !== null ? leaves(filled, path) : [[path, String(filled)] as [string, string]];
  });
}
