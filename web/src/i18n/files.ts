import { textsOf } from "./language.svelte";
import type { FileTexts } from "./en/files";

/** Return the texts for messages and files that are too long or cannot be read, in the page's language. */
export const fileTexts = textsOf(import.meta.glob<FileTexts>("./*/files.ts", { import: "texts" }));
