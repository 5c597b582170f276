import { textsOf } from "../language.svelte";
import type { PaletteTexts } from "./en";

/** Return the texts for the palette, in the page's language. */
export const paletteTexts = textsOf<PaletteTexts>({
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
