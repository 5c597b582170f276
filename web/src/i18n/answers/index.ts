import { textsOf } from "../language.svelte";
import { en } from "./en";
import { zh } from "./zh";

/** Return the texts for the answer tools, in the page's language. */
export const answerTexts = textsOf({ en, zh });
