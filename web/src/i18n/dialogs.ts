import { textsOf } from "./language.svelte";
import type { DialogTexts } from "./en/dialogs";

/** Return the texts for the dialogs, in the page's language. */
export const dialogTexts = textsOf(import.meta.glob<DialogTexts>("./*/dialogs.ts", { import: "texts" }));
