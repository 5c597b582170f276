import { textsOf } from "./language.svelte";
import type { MarkdownTexts } from "./en/markdown";

/** Return the texts for rendered answers, in the page's language. */
export const markdownTexts = textsOf(import.meta.glob<MarkdownTexts>("./*/markdown.ts", { import: "texts" }));
