import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const SOURCE = resolve(import.meta.dirname, "../src");

/** Folders and files of src, from the top to the bottom. A module imports from its own folder and from lower layers. */
const LAYERS: readonly (readonly string[])[] = [
  ["main.ts"],
  ["App.svelte"],
  ["components/admin", "components/chat", "components/live", "components/sidebar"],
  ["components/dialogs"],
  ["components/account", "components/palette"],
  ["components/ui"],
  ["ebb.ts"],
  ["background"],
  ["stores"],
  ["services/chat", "services/live", "services/transfer"],
  ["services/folder_tree.ts", "services/format", "services/palette.ts", "services/search_filters.ts", "services/start_step.ts", "services/tiers.ts"],
  ["services/api", "services/browser", "services/code", "services/markdown", "services/sandbox", "services/scrolling"],
  ["i18n"],
  ["services/browser_storage.ts", "services/whole_characters.ts"],
];

type Arrow = readonly [from: string, to: string];

/** Static and dynamic imports, and the URLs of workers. */
const SPECIFIER = /(?:\bfrom|\bimport|new URL)\s*\(?\s*["'](\.{1,2}\/[^"']+)["']/g;

function modules(): string[] {
  return readdirSync(SOURCE, { recursive: true, encoding: "utf-8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => /\.(?:svelte|ts)$/.test(path) && !path.endsWith(".d.ts"));
}

function arrows(known: readonly string[]): Arrow[] {
  return known.flatMap((from) => {
    const text = readFileSync(join(SOURCE, from), "utf-8");
    return [...text.matchAll(SPECIFIER)]
      .map(([, specifier]) => relative(SOURCE, resolve(SOURCE, dirname(from), specifier!)).replaceAll("\\", "/"))
      .filter((target) => !target.endsWith(".css"))
      .map((target): Arrow => [from, [target, `${target}.ts`].find((path) => known.includes(path)) ?? `${target}.d.ts`]);
  });
}

/** The entry of LAYERS that holds the module, and its number from the top. */
function placeOf(module: string): { folder: string; layer: number } | null {
  for (const [layer, folders] of LAYERS.entries()) {
    const folder = folders.find((name) => module === name || module.startsWith(`${name}/`));
    if (folder !== undefined) return { folder, layer };
  }
  return null;
}

function isAllowed([from, to]: Arrow): boolean {
  const [source, target] = [placeOf(from), placeOf(to)];
  return source !== null && target !== null && (source.folder === target.folder || source.layer < target.layer);
}

/** Modules of circles, and those that import them. A component that draws itself is recursion and no circle. */
function inCircles(all: readonly Arrow[]): string[] {
  let left = all.filter(([from, to]) => from !== to);
  for (let before = -1; before !== left.length; ) {
    before = left.length;
    const importing = new Set(left.map(([from]) => from));
    left = left.filter(([, to]) => importing.has(to));
  }
  return [...new Set(left.map(([from]) => from))];
}

describe("the layers of the page", () => {
  const known = modules();
  const all = arrows(known);

  it("hold every module", () => {
    expect(known.length).toBeGreaterThan(100);
    expect(known.filter((module) => placeOf(module) === null)).toEqual([]);
  });

  it("import downwards only", () => {
    expect(all.filter((arrow) => !isAllowed(arrow)).map((arrow) => arrow.join(" -> "))).toEqual([]);
  });

  it("have no circle", () => {
    expect(inCircles(all)).toEqual([]);
  });

  it.each([
    ["services/api/client.ts", "stores/chat.svelte.ts"],
    ["stores/chat.svelte.ts", "components/ui/Menu.svelte"],
    ["components/ui/Menu.svelte", "components/chat/Receipt.svelte"],
    ["components/chat/Receipt.svelte", "components/sidebar/Sidebar.svelte"],
  ])("refuse an arrow from %s to %s", (from, to) => {
    expect(isAllowed([from, to])).toBe(false);
  });

  it("find a circle of three", () => {
    expect(inCircles([["a", "b"], ["b", "c"], ["c", "a"], ["c", "d"], ["d", "d"]])).toEqual(["a", "b", "c"]);
  });
});
