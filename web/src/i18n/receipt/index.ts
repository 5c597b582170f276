import { textsOf } from "../language.svelte";
import type { ReceiptTexts } from "./en";

/** Return the texts for the details of a receipt, in the page's language. */
export const receiptTexts = textsOf<ReceiptTexts>({
  de: () => import("./de"),
  en: () => import("./en"),
  zh: () => import("./zh"),
});
