import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

import { boundFirstLoad, offlineWorker, precompress, staticIcons, woff2Only } from "./build_plugins.ts";

const server = process.env["EBB_URL"] ?? "http://127.0.0.1:8000";

/** All modules but texts, of which the page reads those of one language. */
const NO_TEXTS = /^(?!.*\/src\/i18n\/[\w-]+\/)/;
/** Components and icons, but the view of Markdown. */
const PARTS = /\/src\/components\/(?!chat\/markdown\/)|\/@lucide\//;

export default defineConfig({
  plugins: [staticIcons(), svelte(), woff2Only(), boundFirstLoad(100_000), offlineWorker("src/background/offline_worker.js"), precompress()],
  build: {
    outDir: "../app/static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    // One script and one style for the first load, and one for what the views share: each request takes time on both sides.
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
