import { textsOf } from "../language.svelte";
import { en } from "./en";
import { zh } from "./zh";

/** Return the texts for folders, tags and the selection of chats, in the page's language. */
export const organizeTexts = textsOf({ en, zh });
