import { textsOf } from "./language.svelte";
import type { PaletteTexts } from "./en/palette";

/** Return the texts for the palette, in the page's language. */
export const paletteTexts = textsOf(import.meta.glob<PaletteTexts>("./*/palette.ts", { import: "texts" }));
