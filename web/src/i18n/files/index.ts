import { textsOf } from "../language.svelte";
import { en } from "./en";
import { zh } from "./zh";

/** Return the texts about files that are being read in the page's language. */
export const fileTexts = textsOf({ en, zh });
