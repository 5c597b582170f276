import { textsOf } from "../language.svelte";
import type { AnswerTexts } from "./en";

/** Return the texts for the answer tools, in the page's language. */
export const answerTexts = textsOf<AnswerTexts>({
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
