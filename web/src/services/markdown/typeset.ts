/** Placeholder of TeX in rendered HTML, with its source. Raw HTML is escaped, so nothing else matches. */
const SPAN = /<span class="math( display)?">([^<]*)<\/span>/g;

/** Return the placeholder of a formula. */
export function formulaSpan(source: string, display: boolean): string {
  return `<span class="math${display ? " display" : ""}">${escape(source.trim())}</span>`;
}

/** Return whether rendered HTML contains TeX. */
export function hasMath(html: string): boolean {
  return html.includes('<span class="math');
}

/**
 * Typeset the TeX in sanitised HTML. The result keeps the source, for copies. set: returns null for invalid TeX, which then
 * stays as written.
 */
export function setMath(html: string, set: (tex: string, display: boolean) => string | null): string {
  return html.replace(SPAN, (whole, display: string | undefined, source: string) => {
    const tex = texOf(unescape(source));
    const typeset = tex === "" ? null : set(tex, Boolean(display));
    return typeset === null ? whole : `<span class="typeset" data-source="${source.replace(/"/g, "&quot;")}">${typeset}</span>`;
  });
}

/** Return the TeX between the delimiters of `source`. */
function texOf(source: string): string {
  const length = source.startsWith("$") && !source.startsWith("$$") ? 1 : 2;
  return source.slice(length, -length).trim();
}

const ENTITIES: Record<string, string> = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&nbsp;": "\u00a0", "&amp;": "&" };

function escape(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

function unescape(html: string): string {
  return html.replace(/&(?:lt|gt|quot|nbsp|amp);/g, (entity) => ENTITIES[entity]!);
}
