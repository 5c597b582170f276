import hljs from "highlight.js/lib/common";

import { LINES } from "./line_chunks";

/** HTML with `hljs-` spans, in pieces that hold the lines of those of `CodeLines`; null for a language it does not know. */
export function highlight(code: string, language: string): string[] | null {
  if (hljs.getLanguage(language) === undefined) return null;
  return pieces(hljs.highlight(code, { language, ignoreIllegals: true }).value);
}

/** Spans that go on in the next piece are closed in this one, and opened there again. */
function pieces(html: string): string[] {
  const found: string[] = [];
  const open: string[] = [];
  let [piece, lines] = ["", 0];
  for (const [part] of html.matchAll(/<\/span>|<span[^>]*>|\n|[^<\n]+/g)) {
    if (part === "</span>") open.pop();
    else if (part.startsWith("<")) open.push(part);
    piece += part;
    if (part !== "\n" || ++lines % LINES > 0) continue;
    found.push(piece + "</span>".repeat(open.length));
    piece = open.join("");
  }
  return [...found, piece];
}
