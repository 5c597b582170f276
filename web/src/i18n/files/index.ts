import { textsOf } from "../language.svelte";
import type { FileTexts } from "./en";

/** Return the texts for messages and files that are too long or cannot be read, in the page's language. */
export const fileTexts = textsOf<FileTexts>({
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
