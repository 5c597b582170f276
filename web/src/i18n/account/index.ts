import { textsOf } from "../language.svelte";
import type { AccountTexts } from "./en";

/** Return the texts for logins, accounts, administration and unknown addresses, in the page's language. */
export const accountTexts = textsOf<AccountTexts>({
  de: () => import("./de"),
  en: () => import("./en"),
  zh: () => import("./zh"),
});
