import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Plugin, Rolldown } from "vite";

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

function entriesOf(bundle: Rolldown.OutputBundle): string[] {
  return chunksOf(bundle).filter(({ isEntry }) => isEntry).map(({ fileName }) => fileName);
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
      const first = loadedWith(bundle, entriesOf(bundle)).filter(({ moduleIds }) => moduleIds.length > 0);
      const scripts = first.map(({ fileName }) => fileName);
      const files = first.flatMap(({ fileName, viteMetadata }) => [fileName, ...(viteMetadata?.importedCss ?? [])]);
      const texts = new Map<string, string[]>();
      for (const { facadeModuleId, fileName } of chunksOf(bundle)) {
        const tag = CATALOGUE.exec(facadeModuleId ?? "")?.[1];
        const loaded = loadedWith(bundle, [fileName]).map((chunk) => chunk.fileName);
        if (tag !== undefined) texts.set(tag, loaded.filter((name) => !scripts.includes(name)));
      }
      needed = [...files, ...[...texts.values()].flat()];
      const version = createHash("sha256").update(Object.keys(bundle).sort().join()).digest("hex").slice(0, 16);
      const pathsOf = (names: readonly string[]) => names.map((name) => `/${name}`);
      const textPaths = Object.fromEntries([...texts].map(([tag, names]) => [tag, pathsOf(names)]));
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

/** Modules with the texts of a language. The first load needs one of them. */
const CATALOGUE = /\/i18n\/([^/]+)\/page\.ts$/;

/** Fail the build if the scripts of the first load, with the longest catalogue, exceed `limit` bytes of gzip. */
export function boundFirstLoad(limit: number): Plugin {
  return {
    name: "bound-first-load",
    generateBundle(_options, bundle) {
      const sizeOf = ({ code }: Rolldown.OutputChunk): number => gzipSync(code).length;
      const catalogues = chunksOf(bundle).filter(({ facadeModuleId }) => CATALOGUE.test(facadeModuleId ?? ""));
      if (catalogues.length < 2) this.error("The texts of the languages are not in chunks of their own.");
      const texts = Math.max(...catalogues.map(sizeOf));
      const size = loadedWith(bundle, entriesOf(bundle)).reduce((sum, chunk) => sum + sizeOf(chunk), texts);
      if (size > limit) this.error(`The first load takes ${size} bytes of compressed script; at most ${limit} may be.`);
    },
  };
}
