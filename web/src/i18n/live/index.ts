import { textsOf } from "../language.svelte";
import { en } from "./en";
import { zh } from "./zh";

/** Return the texts for the view of live numbers, in the page's language. */
export const liveTexts = textsOf({ en, zh });
