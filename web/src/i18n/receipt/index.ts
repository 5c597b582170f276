import { textsOf } from "../language.svelte";
import { en } from "./en";
import { zh } from "./zh";

/** Return the texts for the details of a receipt, in the page's language. */
export const receiptTexts = textsOf({ en, zh });
