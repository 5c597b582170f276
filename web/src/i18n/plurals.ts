/**
 * Forms of a text that a language needs for whole numbers, after CLDR. A form that is written like `other` is left out. A
 * language that is not here writes all numbers with one form.
 */
const FORMS = {
  af: ["one", "other"],
  ar: ["zero", "one", "two", "few", "many", "other"],
  be: ["one", "few", "other"],
  bg: ["one", "other"],
  ca: ["one", "other"],
  cs: ["one", "few", "other"],
  da: ["one", "other"],
  de: ["one", "other"],
  el: ["one", "other"],
  en: ["one", "other"],
  es: ["one", "other"],
  et: ["one", "other"],
  eu: ["one", "other"],
  fi: ["one", "other"],
  fr: ["one", "other"],
  gl: ["one", "other"],
  gu: ["one", "other"],
  he: ["one", "two", "other"],
  hi: ["one", "other"],
  hr: ["one", "few", "other"],
  is: ["one", "other"],
  it: ["one", "other"],
  lt: ["one", "few", "other"],
  lv: ["zero", "one", "other"],
  mk: ["one", "other"],
  mr: ["one", "other"],
  nb: ["one", "other"],
  nl: ["one", "other"],
  pl: ["one", "few", "other"],
  "pt-BR": ["one", "other"],
  "pt-PT": ["one", "other"],
  ro: ["one", "few", "other"],
  ru: ["one", "few", "other"],
  sk: ["one", "few", "other"],
  sl: ["one", "two", "few", "other"],
  sq: ["one", "other"],
  sr: ["one", "few", "other"],
  sv: ["one", "other"],
  sw: ["one", "other"],
  ta: ["one", "other"],
  te: ["one", "other"],
  uk: ["one", "few", "other"],
  ur: ["one", "other"],
} as const satisfies Record<string, readonly Intl.LDMLPluralRule[]>;

type Inflected = keyof typeof FORMS;
type Forms<L extends Inflected> = Record<(typeof FORMS)[L][number], string> & { other: string };

/** Return a function that chooses the form of a text for a whole number, by the rules of a language. */
export function pluralsOf<L extends Inflected>(language: L): (count: number, forms: Forms<L>) => string {
  const rules = new Intl.PluralRules(language);
  return (count, forms: Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }) => forms[rules.select(count)] ?? forms.other;
}
