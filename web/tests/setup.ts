import { language } from "../src/i18n/language.svelte";

// The page loads its texts before it is drawn.
await language.load();
