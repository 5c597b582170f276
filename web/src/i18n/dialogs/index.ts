import { textsOf } from "../language.svelte";
import type { DialogTexts } from "./en";

/** Return the texts for the dialogs, in the page's language. */
export const dialogTexts = textsOf<DialogTexts>({
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
