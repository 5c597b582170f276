import { textsOf } from "../language.svelte";
import type { AccountTexts } from "./en";

/** Return the texts for logins, accounts, administration and unknown addresses, in the page's language. */
export const accountTexts = textsOf<AccountTexts>({
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
