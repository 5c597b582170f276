import { textsOf } from "../language.svelte";
import { en } from "./en";
import { zh } from "./zh";

/** Return the texts for rendered answers, in the page's language. */
export const markdownTexts = textsOf({ en, zh });
