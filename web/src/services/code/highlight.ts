import hljs from "highlight.js/lib/common";

import { LINES_PER_CHUNK } from "./line_chunks";

/** Highlight code as HTML with `hljs-` spans, in the chunks of `LineChunks`. Return null for an unknown language. */
export function highlight(code: string, language: string): string[] | null {
  if (hljs.getLanguage(language) === undefined) return null;
  return chunksOf(hljs.highlight(code, { language, ignoreIllegals: true }).value);
}

/** Cut HTML into chunks. Spans across a boundary are closed before it and opened again after it. */
function chunksOf(html: string): string[] {
  const chunks: string[] = [];
  const open: string[] = [];
  let [chunk, lines] = ["", 0];
  for (const [part] of html.matchAll(/<\/span>|<span[^>]*>|\n|[^<\n]+/g)) {
    if (part === "</span>") open.pop();
    else if (part.startsWith("<")) open.push(part);
    chunk += part;
    if (part !== "\n" || ++lines % LINES_PER_CHUNK > 0) continue;
    chunks.push(chunk + "</span>".repeat(open.length));
    chunk = open.join("");
  }
  return [...chunks, chunk];
}
