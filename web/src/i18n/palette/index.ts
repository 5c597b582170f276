import { textsOf } from "../language.svelte";
import { en } from "./en";
import { zh } from "./zh";

/** Return the texts for the palette, in the page's language. */
export const paletteTexts = textsOf({ en, zh });
