import { textsOf } from "./language.svelte";
import type { AccountTexts } from "./en/account";

/** Return the texts for logins, accounts, administration and unknown addresses, in the page's language. */
export const accountTexts = textsOf(import.meta.glob<AccountTexts>("./*/account.ts", { import: "texts" }));
