import { textsOf } from "./language.svelte";
import type { LiveTexts } from "./en/live";

/** Return the texts for the view of live numbers, in the page's language. */
export const liveTexts = textsOf(import.meta.glob<LiveTexts>("./*/live.ts", { import: "texts" }));
