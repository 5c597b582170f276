/** Languages of the page, by their own names and in the order of these. The keys are tags of BCP 47. */
export const LANGUAGES = {
  af: "Afrikaans",
  az: "Azərbaycanca",
  id: "Bahasa Indonesia",
  ms: "Bahasa Melayu",
  ca: "Català",
  cs: "Čeština",
  da: "Dansk",
  de: "Deutsch",
  et: "Eesti",
  en: "English",
  es: "Español",
  eu: "Euskara",
  fil: "Filipino",
  fr: "Français",
  gl: "Galego",
  hr: "Hrvatski",
  is: "Íslenska",
  it: "Italiano",
  sw: "Kiswahili",
  lv: "Latviešu",
  lt: "Lietuvių",
  hu: "Magyar",
  nl: "Nederlands",
  nb: "Norsk bokmål",
  uz: "Oʻzbekcha",
  pl: "Polski",
  "pt-BR": "Português (Brasil)",
  "pt-PT": "Português (Portugal)",
  ro: "Română",
  sq: "Shqip",
  sk: "Slovenčina",
  sl: "Slovenščina",
  fi: "Suomi",
  sv: "Svenska",
  vi: "Tiếng Việt",
  tr: "Türkçe",
  el: "Ελληνικά",
  be: "Беларуская",
  bg: "Български",
  kk: "Қазақша",
  mk: "Македонски",
  ru: "Русский",
  sr: "Српски",
  uk: "Українська",
  ka: "ქართული",
  he: "עברית",
  ar: "العربية",
  ur: "اردو",
  fa: "فارسی",
  hi: "हिन्दी",
  mr: "मराठी",
  bn: "বাংলা",
  ta: "தமிழ்",
  th: "ไทย",
  ko: "한국어",
  ja: "日本語",
  zh: "简体中文",
  "zh-Hant": "繁體中文",
};

export type Language = keyof typeof LANGUAGES;

/** Languages that have every text at every commit. The others show the English text in place of one that they lack. */
export const COMPLETE: readonly Language[] = ["en", "ar", "de", "es", "fr", "hi", "ja", "ko", "pt-BR", "ru", "zh", "zh-Hant"];

const RIGHT_TO_LEFT: readonly Language[] = ["ar", "fa", "he", "ur"];

/** Languages without a space between sentences. */
const UNSPACED: readonly Language[] = ["ja", "zh", "zh-Hant"];

/** Other tags of Norwegian. Its written forms have tags of their own. */
const NORWEGIAN: readonly string[] = ["no", "nn"];

/** Languages with their likely scripts and regions, as in "zh-Hant-TW". */
const KNOWN = (Object.keys(LANGUAGES) as Language[]).map((tag) => [tag, new Intl.Locale(tag).maximize()] as const);

/** Return the direction in which a language is written. */
export function directionOf(language: Language): "ltr" | "rtl" {
  return RIGHT_TO_LEFT.includes(language) ? "rtl" : "ltr";
}

/** Return whether a language is written in Latin letters. */
export function isLatin(language: Language): boolean {
  return KNOWN.some(([tag, { script }]) => tag === language && script === "Latn");
}

/** Return whether a language writes a space between sentences. */
export function isSpaced(language: Language): boolean {
  return !UNSPACED.includes(language);
}

/**
 * Return the language of the page for a language tag, null if there is none. One of the same script and region is best. Another
 * script is better than another language.
 */
export function languageOf(tag: string): Language | null {
  const wanted = parsed(tag);
  if (wanted === null) return null;
  const language = NORWEGIAN.includes(wanted.language) ? "nb" : wanted.language;
  const same = KNOWN.filter(([, known]) => known.language === language);
  const inScript = same.filter(([, known]) => known.script === wanted.script);
  const found = inScript.find(([, known]) => known.region === wanted.region) ?? inScript[0] ?? same[0];
  return found?.[0] ?? null;
}

function parsed(tag: string): Intl.Locale | null {
  try {
    return new Intl.Locale(tag).maximize();
  } catch {
    return null;
  }
}
