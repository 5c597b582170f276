import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import type { CompatData, Identifier } from "@mdn/browser-compat-data";
import { expect, it } from "vitest";

import least from "../browsers.json";

type BrowserName = keyof typeof least;
const BROWSERS = Object.keys(least) as BrowserName[];
const SOURCE = resolve(import.meta.dirname, "../src");
const ROOT = resolve(import.meta.dirname, "../..");

// Read, and not imported: Vite would transform 15 MB.
const data = JSON.parse(readFileSync(join(ROOT, "web/node_modules/@mdn/browser-compat-data/data.json"), "utf-8")) as CompatData;

/** A name that a source defines: of a function, a method, a field or a property. */
const DEFINED = /(?:^\s*(?:(?:async|get|override|private|static|export|function)\s+)*|\b(?:const|let|function)\s+|readonly\s+|[{,(]\s*)(\w+)\??\s*(?:[:=]|(?:<[^>()]*>)?\([^()]*(?:\([^()]*\)[^()]*)*\)[^;{]*\{)/gm;

/** Functions of libraries, and those that the page uses only where the browser has them. */
const ALLOWED: ReadonlySet<string> = new Set(["destroy", "requestIdleCallback", "highlights", "CSS.highlights"]);

/** Compare version numbers such as 17.4. */
function isLater(version: string, than: string): boolean {
  const [one, other] = [version, than].map((each) => each.split(".").map(Number)) as [number[], number[]];
  return one[0]! > other[0]! || (one[0] === other[0] && (one[1] ?? 0) > (other[1] ?? 0));
}

/** Return whether the least version of a browser has a function, without a flag or a prefix. */
function isIn(browser: BrowserName, entry: Identifier): boolean {
  const given = entry.__compat?.support[browser] ?? [];
  return [given].flat().some(({ version_added: added, version_removed, flags, prefix }) => {
    if (typeof added !== "string" || added === "preview" || flags !== undefined || prefix !== undefined) return false;
    const stays = typeof version_removed !== "string" || isLater(version_removed, least[browser]);
    return stays && !isLater(added.replace("≤", ""), least[browser]);
  });
}

type Members = Record<string, Identifier>;
const { builtins } = data.javascript as unknown as { builtins: Record<string, Members> };
const OWNERS = { ...data.api, ...builtins, ...builtins["Intl"] } as unknown as Readonly<Record<string, Members>>;

/** Members of all objects, by name: a call does not say which object it is for. */
const MEMBERS = new Map<string, Identifier[]>();
for (const owner of Object.values(OWNERS)) {
  for (const [name, member] of Object.entries(owner)) if (!name.startsWith("__")) MEMBERS.set(name, [...(MEMBERS.get(name) ?? []), member]);
}

/** Return the browsers whose least version lacks what a source uses, each with the function. own: names of functions of the page. */
function missing(text: string, own: ReadonlySet<string> = new Set()): string[] {
  const found: string[] = [];
  const check = (name: string, entries: readonly Identifier[]) => {
    const lacking = BROWSERS.filter((browser) => entries.length > 0 && !entries.some((entry) => isIn(browser, entry)));
    if (lacking.length > 0 && !ALLOWED.has(name)) found.push(`${name}: ${lacking.join(", ")}`);
  };
  for (const [, owner, name] of text.matchAll(/\b([A-Z]\w*)\.([a-z]\w*)\b/g)) {
    const entry = OWNERS[owner!]?.[name!] ?? OWNERS[owner!]?.[`${name}_static`];
    check(`${owner}.${name}`, entry === undefined ? [] : [entry]);
  }
  for (const [, name] of text.matchAll(/(?<!\b[A-Z]\w*)\.([a-z]\w*)\(/g)) check(name!, own.has(name!) ? [] : (MEMBERS.get(name!) ?? []));
  return [...new Set(found)];
}

it("uses no function that the least versions of browsers lack", () => {
  const files = readdirSync(SOURCE, { recursive: true, encoding: "utf-8" }).filter((path) => /\.(?:svelte|ts|js)$/.test(path) && !/^i18n\/(?!en\/)[\w-]+\//.test(path));
  const texts = new Map(files.map((path) => [path, readFileSync(join(SOURCE, path), "utf-8")]));
  const own = new Set([...texts.values()].flatMap((text) => [...text.matchAll(DEFINED)].map(([, name]) => name!)));
  const lacking = [...texts].flatMap(([path, text]) => missing(text, own).map((each) => `${path}: ${each}`));
  expect(lacking).toEqual([]);
});

it("knows what older and newer browsers lack", () => {
  expect(missing("Map.groupBy(items)")).toEqual([]);
  expect(missing("Math.sumPrecise(numbers); set.isSubsetOf(other)")).toEqual([
    "Math.sumPrecise: chrome, edge, firefox, safari",
    expect.stringContaining("isSubsetOf: chrome, edge, firefox"),
  ]);
});

it.each(["README.md", "web/README.md", "web/public/start.js"])("declares the versions in %s", (path) => {
  const { chrome, firefox, safari } = least;
  const text = readFileSync(join(ROOT, path), "utf-8").replaceAll(/"\s*\+\s*"|\s+/g, " ");
  for (const part of [`Chrome and Edge ${chrome}`, `Firefox ${firefox}`, `Safari ${safari}`]) {
    expect(text.replaceAll("Chrome or Edge", "Chrome and Edge")).toContain(part);
  }
});
