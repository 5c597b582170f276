import { textsOf } from "../language.svelte";
import type { LiveTexts } from "./en";

/** Return the texts for the view of live numbers, in the page's language. */
export const liveTexts = textsOf<LiveTexts>({
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
