import { directionOf, type Language } from "./languages";

/** Texts of a language that may lack some of the English ones. Lists are complete or left out. */
export type PartialTexts<Texts> = Texts extends string | readonly string[]
  ? Texts
  : Texts extends (...given: infer Given) => infer Made
    ? (...given: Given) => PartialTexts<Made>
    : { [Name in keyof Texts]?: PartialTexts<Texts[Name]> };

type Branch = Readonly<Record<string, unknown>>;

/** Return the texts of a language, with the English text in place of each one that it lacks. */
export function withEnglish<Texts>(own: NoInfer<PartialTexts<Texts>>, english: Texts, tag: Language): Texts {
  return merged(own, english, directionOf(tag) === "rtl" ? isolated : (text) => text) as Texts;
}

/** mark: marks an English text. */
function merged(own: unknown, english: unknown, mark: (text: string) => string): unknown {
  if (own === undefined && typeof english === "string") return mark(english);
  if (typeof english === "function") {
    return (...given: unknown[]) => merged((own as typeof english | undefined)?.(...given), english(...given), mark);
  }
  if (typeof english !== "object" || Array.isArray(english)) return own ?? english;
  const branch = (own ?? {}) as Branch;
  const filled = Object.entries(english as Branch).map(([name, inner]) => [name, merged(branch[name], inner, mark)] as const);
  return { ...branch, ...Object.fromEntries(filled) };
}

/** Keep the order of an English sentence and its full stop in text that is written from the right. */
function isolated(text: string): string {
  return `\u2068${text}\u2069`;
}
