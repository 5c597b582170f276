/** Turns code into HTML with `hljs-` spans; null for a language it does not know. */
export type Highlight = (code: string, language: string) => string | null;

/** Loads the highlighter with its common languages; the first call fetches it, later ones find it in the module cache. */
export async function loadHighlight(): Promise<Highlight> {
  const { default: hljs } = await import("highlight.js/lib/common");
  return (code, language) =>
    hljs.getLanguage(language) === undefined ? null : hljs.highlight(code, { language, ignoreIllegals: true }).value;
}
