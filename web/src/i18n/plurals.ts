/** Forms of a text that a language needs for whole numbers, after CLDR. A form that is written like `other` is left out. */
const FORMS = {
  de: ["one", "other"],
  en: ["one", "other"],
  es: ["one", "other"],
  fr: ["one", "other"],
  it: ["one", "other"],
  pt: ["one", "other"],
  ru: ["one", "few", "other"],
} as const satisfies Record<string, readonly Intl.LDMLPluralRule[]>;

type Inflected = keyof typeof FORMS;
type Forms<L extends Inflected> = Record<(typeof FORMS)[L][number], string> & { other: string };

/** Return a function that chooses the form of a text for a whole number, by the rules of a language. */
export function pluralsOf<L extends Inflected>(language: L): (count: number, forms: Forms<L>) => string {
  const rules = new Intl.PluralRules(language);
  return (count, forms: Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }) => forms[rules.select(count)] ?? forms.other;
}
