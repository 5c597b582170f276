import { textsOf } from "./language.svelte";
import type { ReceiptTexts } from "./en/receipt";

/** Return the texts for the details of a receipt, in the page's language. */
export const receiptTexts = textsOf(import.meta.glob<ReceiptTexts>("./*/receipt.ts", { import: "texts" }));
