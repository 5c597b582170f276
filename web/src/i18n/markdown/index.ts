import { textsOf } from "../language.svelte";
import type { MarkdownTexts } from "./en";

/** Return the texts for rendered answers, in the page's language. */
export const markdownTexts = textsOf<MarkdownTexts>({
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
