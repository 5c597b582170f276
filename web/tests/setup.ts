import { afterEach, vi } from "vitest";

import { language } from "../src/i18n/language.svelte";

// The page loads the texts of a view before the view is drawn.
import.meta.glob("../src/i18n/*.ts", { eager: true });
await language.load();

// jsdom does not say how a page was loaded.
globalThis.isSecureContext ??= false;

// The files share one environment, so a test that fails must not leave its timers to those after it.
afterEach(() => void vi.useRealTimers());
