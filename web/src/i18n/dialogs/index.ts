import { textsOf } from "../language.svelte";
import { en } from "./en";
import { zh } from "./zh";

/** Return the texts for the dialogs, in the page's language. */
export const dialogTexts = textsOf({ en, zh });
