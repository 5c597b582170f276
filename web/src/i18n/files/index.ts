import { textsOf } from "../language.svelte";
import { en } from "./en";
import { zh } from "./zh";

/** Return the texts for messages and files that are too long or cannot be read, in the page's language. */
export const fileTexts = textsOf({ en, zh });
