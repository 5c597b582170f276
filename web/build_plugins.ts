import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Plugin, Rolldown } from "vite";

import { COMPLETE, type Language } from "./src/i18n/languages.ts";

/** Write a compressed copy of each script and style, for browsers that accept gzip. */
export function precompress(): Plugin {
  return {
    name: "precompress",
    apply: "build",
    writeBundle({ dir }, bundle) {
      for (const name of Object.keys(bundle)) {
        if (!/\.(?:m?js|css)$/.test(name)) continue;
        const path = join(dir ?? "", name);
        writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
      }
    },
  };
}

/** Prefix of the modules that `joined` writes. */
const JOINED = "\0joined:";
/** A dynamic import of a module that is known. */
const DYNAMIC_IMPORT = /\bimport\(\s*(["'])([^"']+)\1\s*\)/g;

/**
 * Join modules that are imported dynamically, and that the page needs at the same time, into one file: each request takes
 * time on both sides. The sources import each of them alone.
 *
 * groups: the names of the files, and the paths of the modules in each.
 */
export function joined(groups: Readonly<Record<string, readonly string[]>>): Plugin {
  const places = new Map(Object.entries(groups).flatMap(([name, paths]) => paths.map((path, at) => [path, { name, at }] as const)));
  return {
    name: "joined",
    // Imports of globs are expanded by then.
    enforce: "post",
    apply: "build",
    resolveId: (id) => (id.startsWith(JOINED) ? id : null),
    load(id) {
      const paths = id.startsWith(JOINED) ? groups[id.slice(JOINED.length)] : undefined;
      return paths?.map((path, at) => `export * as part${at} from ${JSON.stringify(path)};`).join("\n") ?? null;
    },
    async transform(code, importer) {
      if (!code.includes("import(") || importer.startsWith(JOINED)) return null;
      let written = code;
      for (const [whole, , specifier] of code.matchAll(DYNAMIC_IMPORT)) {
        const place = places.get((await this.resolve(specifier!, importer))?.id ?? "");
        if (place === undefined) continue;
        written = written.replace(whole, `import(${JSON.stringify(JOINED + place.name)}).then((parts) => parts.part${place.at})`);
      }
      return written === code ? null : { code: written, map: null };
    },
  };
}

/** List the chunks that loading `names` needs. */
function loadedWith(bundle: Rolldown.OutputBundle, names: readonly string[]): Rolldown.OutputChunk[] {
  const found = new Map<string, Rolldown.OutputChunk>();
  const visit = (name: string): void => {
    const chunk = bundle[name];
    if (chunk?.type !== "chunk" || found.has(name)) return;
    found.set(name, chunk);
    chunk.imports.forEach(visit);
  };
  names.forEach(visit);
  return [...found.values()];
}

function chunksOf(bundle: Rolldown.OutputBundle): Rolldown.OutputChunk[] {
  return Object.values(bundle).filter((output) => output.type === "chunk");
}

/** List the chunks of the first load, without texts. */
function firstLoad(bundle: Rolldown.OutputBundle): Rolldown.OutputChunk[] {
  const entries = chunksOf(bundle).filter(({ isEntry }) => isEntry);
  return loadedWith(bundle, entries.map(({ fileName }) => fileName));
}

/** Modules with the texts of a language. The first load needs one of them. */
const CATALOGUE = /\/i18n\/([^/]+)\/page\.ts$/;

/** List for each language the chunks that its texts add to the first load. English fills the gaps of a language that has some. */
function catalogues(bundle: Rolldown.OutputBundle): Map<string, Rolldown.OutputChunk[]> {
  const first = new Set(firstLoad(bundle));
  const names = new Map<string, string>();
  for (const { facadeModuleId, fileName } of chunksOf(bundle)) {
    const tag = CATALOGUE.exec(facadeModuleId ?? "")?.[1];
    if (tag !== undefined) names.set(tag, fileName);
  }
  const chunksFor = ([tag, name]: [string, string]) => {
    const english = COMPLETE.includes(tag as Language) ? [] : [names.get("en")!];
    return [tag, loadedWith(bundle, [name, ...english]).filter((chunk) => !first.has(chunk))] as const;
  };
  return new Map([...names].map(chunksFor));
}

/**
 * Write the worker of the page without a connection. The worker knows the files of the first load, the files of each
 * language, and a version of all files.
 */
export function offlineWorker(source: string): Plugin {
  let needed: string[] = [];
  return {
    name: "offline-worker",
    apply: "build",
    generateBundle(_options, bundle) {
      // Vite leaves out an entry whose modules are all in other chunks.
      const first = firstLoad(bundle).filter(({ moduleIds }) => moduleIds.length > 0);
      const files = first.flatMap(({ fileName, viteMetadata }) => [fileName, ...(viteMetadata?.importedCss ?? [])]);
      const texts = [...catalogues(bundle)].map(([tag, chunks]) => [tag, chunks.map(({ fileName }) => fileName)] as const);
      needed = [...files, ...texts.flatMap(([, names]) => names)];
      const version = createHash("sha256").update(Object.keys(bundle).sort().join()).digest("hex").slice(0, 16);
      const pathsOf = (names: readonly string[]) => names.map((name) => `/${name}`);
      const textPaths = Object.fromEntries(texts.map(([tag, names]) => [tag, pathsOf(names)]));
      const code = readFileSync(source, "utf8")
        .replace("const FILES = [];", `const FILES = ${JSON.stringify(pathsOf(files))};`)
        .replace("const TEXTS = {};", `const TEXTS = ${JSON.stringify(textPaths)};`)
        .replace('const VERSION = "";', `const VERSION = ${JSON.stringify(version)};`);
      this.emitFile({ type: "asset", fileName: "offline.js", source: code });
    },
    writeBundle(_options, bundle) {
      // A browser installs the worker only if it gets all of its files.
      for (const name of needed) if (!(name in bundle)) this.error(`The offline worker needs ${name}, which was not built.`);
    },
  };
}

/** Leave out KaTeX's fonts in older formats: every supported browser reads WOFF2. */
export function woff2Only(): Plugin {
  return {
    name: "woff2-only",
    enforce: "pre",
    transform: (code, id) =>
      id.endsWith("katex.min.css") ? code.replace(/,url\([^)]*\.(?:woff|ttf)\) format\("[a-z]+"\)/g, "") : null,
  };
}

/** Data of one of Lucide's icons in the library's source, as JSON. */
const ICON_DATA = /^const iconData = (\{.*\});$/m;

/**
 * Compile Lucide's icons to markup with the attributes that the page sets. The library builds each icon from data, which
 * took a third of the script of a message.
 */
export function staticIcons(): Plugin {
  return {
    name: "static-icons",
    enforce: "pre",
    load(id) {
      const name = /\/@lucide\/svelte\/dist\/icons\/([\w-]+)\.svelte$/.exec(id)?.[1];
      if (name === undefined) return null;
      const data = ICON_DATA.exec(readFileSync(id, "utf8"))?.[1];
      if (data === undefined) this.error(`The source of the icon ${name} has another form.`);
      const { node } = JSON.parse(data) as { node: [string, Record<string, string>][] };
      const shapes = node.map(([tag, attributes]) => {
        const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${value}"`);
        return `<${tag}${written.join("")} />`;
      });
      return `<script lang="ts">
  let { size = 24, fill = "none", role, "aria-label": label } = $props();
</script>
<svg class="lucide lucide-${name}" width={size} height={size} viewBox="0 0 24 24" {fill} stroke="currentColor" stroke-width="2"
  stroke-linecap="round" stroke-linejoin="round" {role} aria-label={label} aria-hidden={label === undefined ? "true" : undefined}>${shapes.join("")}</svg>`;
    },
  };
}

/** Fail the build if the scripts of the first load, with the longest catalogue, exceed `limit` bytes of gzip. */
export function boundFirstLoad(limit: number): Plugin {
  return {
    name: "bound-first-load",
    generateBundle(_options, bundle) {
      const sizeOf = (chunks: readonly Rolldown.OutputChunk[]): number =>
        chunks.reduce((sum, { code }) => sum + gzipSync(code).length, 0);
      const languages = [...catalogues(bundle).values()];
      if (languages.length < 2) this.error("The texts of the languages are not in chunks of their own.");
      const first = new Set(firstLoad(bundle).map(({ fileName }) => fileName));
      const circle = languages.flat().find(({ imports }) => imports.some((name) => first.has(name)));
      if (circle !== undefined) this.error(`${circle.fileName} would wait for the first script, which waits for it.`);
      const size = sizeOf(firstLoad(bundle)) + Math.max(...languages.map(sizeOf));
      if (size > limit) this.error(`The first load takes ${size} bytes of compressed script; at most ${limit} may be.`);
    },
  };
}
