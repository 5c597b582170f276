import { textsOf } from "../language.svelte";
import { en } from "./en";
import { zh } from "./zh";

/** Return the texts for logins, accounts, administration and unknown addresses, in the page's language. */
export const accountTexts = textsOf({ en, zh });
