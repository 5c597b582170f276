import { textsOf } from "../language.svelte";
import type { ReceiptTexts } from "./en";

/** Return the texts for the details of a receipt, in the page's language. */
export const receiptTexts = textsOf<ReceiptTexts>({
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
