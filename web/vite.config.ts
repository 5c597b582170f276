import { readdirSync } from "node:fs";
import { join } from "node:path";

import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

import { boundFirstLoad, joined, offlineWorker, precompress, staticIcons, woff2Only } from "./build_plugins.ts";

const server = process.env["EBB_URL"] ?? "http://127.0.0.1:8000";

/** All modules but texts, of which the page reads those of one language. */
const NO_TEXTS = /^(?!.*\/src\/i18n\/[\w-]+\/)/;
/**
 * Components, icons, stores and the choice of texts, but not the view of Markdown. Texts need the plural forms while the first
 * script waits for them, so these have a file of their own.
 */
const PARTS = /\/src\/(?:components\/(?!chat\/markdown\/)|stores\/|services\/browser\/|services\/markdown\/copy|i18n\/(?!plurals)\w+\.ts)|\/@lucide\//;

const SOURCE = join(import.meta.dirname, "src");
/** Modules that the page loads right after its first view. */
const AFTER_FIRST_VIEW = [
  "background/background.svelte.ts",
  "components/chat/QuestionEditor.svelte",
  "components/dialogs/Dialogs.svelte",
  "components/sidebar/DeleteChat.svelte",
  "components/sidebar/RenameChat.svelte",
  "components/sidebar/SearchResults.svelte",
  "components/sidebar/chat_items.ts",
  "../node_modules/eventsource-parser/dist/index.js",
];

/** List the texts of each language but those of the first view. */
function viewTexts(): Record<string, string[]> {
  const folder = join(SOURCE, "i18n");
  const languages = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const namesOf = (tag: string) => readdirSync(join(folder, tag)).filter((name) => name !== "page.ts");
  return Object.fromEntries(languages.map(({ name: tag }) => [`texts-${tag}`, namesOf(tag).map((name) => join(folder, tag, name))]));
}

const JOINED = { "after-first-view": AFTER_FIRST_VIEW.map((path) => join(SOURCE, path)), ...viewTexts() };

export default defineConfig({
  plugins: [staticIcons(), svelte(), joined(JOINED), woff2Only(), boundFirstLoad(100_000), offlineWorker("src/background/offline_worker.js"), precompress()],
  build: {
    outDir: "../app/static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    // One script and one style for the first load, and one for the parts that views share: each request takes time on both sides.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: "first", test: NO_TEXTS, tags: ["$initial"], priority: 1 },
            { name: "shared", test: PARTS, minShareCount: 2 },
          ],
        },
      },
    },
  },
  server: {
    proxy: { "/api": server, "/health": server, "/tokenize": server },
  },
  // Tests need Svelte's browser build, not the one for server-side rendering.
  ...(process.env["VITEST"] && { resolve: { conditions: ["browser"] } }),
  test: {
    // jsdom and not happy-dom: under happy-dom DOMPurify returns hostile HTML unchanged.
    environment: "jsdom",
    setupFiles: ["tests/setup.ts"],
    include: ["tests/**/*.test.ts"],
    // One jsdom for all files, which run one after the other: creating it takes as long as all its tests.
    isolate: false,
    fileParallelism: false,
    // A busy machine takes six seconds to inflate the largest archive.
    testTimeout: 60_000,
    restoreMocks: true,
    unstubGlobals: true,
  },
});
