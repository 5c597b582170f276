import { language } from "../src/i18n/language.svelte";

// The page loads the texts of a view before the view is drawn.
import.meta.glob("../src/i18n/*/index.ts", { eager: true });
await language.load();
