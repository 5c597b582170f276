import { textsOf } from "./language.svelte";
import type { AnswerTexts } from "./en/answers";

/** Return the texts for the answer tools, in the page's language. */
export const answerTexts = textsOf(import.meta.glob<AnswerTexts>("./*/answers.ts", { import: "texts" }));
