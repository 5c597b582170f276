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

/**
 * Write the worker of the page without a connection. The worker knows the files of the first load, the file of each language,
 * and a version of all files.
 */
export function offlineWorker(source: string): Plugin {
  let files: string[] = [];
  return {
    name: "offline-worker",
    apply: "build",
    generateBundle(_options, bundle) {
      const entries = Object.values(bundle).filter((output) => output.type === "chunk" && output.isEntry);
      const first = new Set<string>();
      const visit = (name: string): void => {
        const chunk = bundle[name];
        if (chunk?.type !== "chunk" || first.has(name)) return;
        first.add(name);
        chunk.imports.forEach(visit);
      };
      for (const { fileName } of entries) visit(fileName);
      const texts = Object.values(bundle).flatMap((output) => {
        const tag = output.type === "chunk" ? CATALOGUE.exec(output.facadeModuleId ?? "")?.[1] : undefined;
        return tag === undefined ? [] : [[tag, `/${output.fileName}`]];
      });
      const styles = [...first].flatMap((name) => {
        const chunk = bundle[name];
        return chunk?.type === "chunk" ? [...(chunk.viteMetadata?.importedCss ?? [])] : [];
      });
      // Vite leaves out an entry whose modules are all in other chunks.
      const scripts = [...first].filter((name) => (bundle[name] as Rolldown.OutputChunk).moduleIds.length > 0);
      files = [...scripts, ...styles].sort();
      const version = createHash("sha256").update(Object.keys(bundle).sort().join()).digest("hex").slice(0, 16);
      const code = readFileSync(source, "utf8")
        .replace("const FILES = [];", `const FILES = ${JSON.stringify(files.map((name) => `/${name}`))};`)
        .replace("const TEXTS = {};", `const TEXTS = ${JSON.stringify(Object.fromEntries(texts))};`)
        .replace('const VERSION = "";', `const VERSION = ${JSON.stringify(version)};`);
      this.emitFile({ type: "asset", fileName: "offline.js", source: code });
    },
    writeBundle(_options, bundle) {
      // A browser installs the worker only if it gets all of its files.
      for (const name of files) if (!(name in bundle)) this.error(`The offline worker needs ${name}, which was not built.`);
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
      const needed = new Set<string>();
      const visit = (name: string): void => {
        const chunk = bundle[name];
        if (chunk?.type !== "chunk" || needed.has(name)) return;
        needed.add(name);
        chunk.imports.forEach(visit);
      };
      const sizeOf = (name: string): number => gzipSync((bundle[name] as { code: string }).code).length;
      const chunks = Object.values(bundle).filter((output) => output.type === "chunk");
      for (const chunk of chunks) if (chunk.isEntry) visit(chunk.fileName);
      const catalogues = chunks.filter(({ facadeModuleId }) => CATALOGUE.test(facadeModuleId ?? ""));
      if (catalogues.length < 2) this.error("The texts of the languages are not in chunks of their own.");
      const texts = Math.max(...catalogues.map(({ fileName }) => sizeOf(fileName)));
      const size = [...needed].reduce((sum, name) => sum + sizeOf(name), texts);
      if (size > limit) this.error(`The first load takes ${size} bytes of compressed script; at most ${limit} may be.`);
    },
  };
}
