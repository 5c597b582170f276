import DOMPurify from "dompurify";

import { escapeHtml } from "./escape";
import { image, link, LINKED } from "./links";

/** Elements that answers may use within text, apart from links, images and breaks. They lose their attributes. */
export const INLINE_ELEMENTS = [
  ...["abbr", "b", "bdi", "cite", "code", "del", "dfn", "em", "i", "ins", "kbd", "mark", "q", "rp", "rt", "ruby"],
  ...["s", "samp", "small", "span", "strong", "sub", "sup", "u", "var"],
];

/** Elements that answers may use as blocks, with the attributes below. */
export const BLOCK_ELEMENTS = [
  ...["blockquote", "caption", "center", "dd", "details", "div", "dl", "dt", "figcaption", "figure", "hr", "li", "ol", "p", "pre"],
  ...["summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul"],
];
const HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6"];
const ALLOWED = [...INLINE_ELEMENTS, ...BLOCK_ELEMENTS, ...HEADINGS, "a", "br", "img", "wbr"];
const KNOWN: ReadonlySet<string> = new Set(ALLOWED);

const FRAGMENT = { RETURN_DOM_FRAGMENT: true } as const;

/** A purifier without the hooks of the page's own. */
const purifier = DOMPurify(window);
purifier.setConfig({
  ...FRAGMENT,
  ALLOWED_TAGS: [...ALLOWED, "#text"],
  // Never a class, an id or a style: they would reach the page's own elements.
  ALLOWED_ATTR: ["align", "alt", "colspan", "dir", "href", "open", "rowspan", "src", "start"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
});

/** A tag without its end. */
const BEGUN_TAG = /<\/?([a-z][a-z0-9]*)(\s[^<>]*)?$/i;

/**
 * Return a block of HTML with its allowed elements alone, for the sanitiser; null if it has another element or a comment, so
 * that it is shown as text. An allowed tag that is still being written is left out.
 */
export function safeBlock(source: string): string | null {
  const text = source.replace(BEGUN_TAG, (tag: string, name: string, attributes: string | undefined) => {
    const isAllowed = attributes === undefined ? ALLOWED.some((each) => each.startsWith(name.toLowerCase())) : KNOWN.has(name.toLowerCase());
    return isAllowed ? "" : tag;
  });
  if (/<[!?]/.test(text)) return null;
  const names = [...text.matchAll(/<\/?([a-z][^\s/>]*)/gi)].map(([, name]) => name!.toLowerCase());
  if (names.length === 0 || !names.every((name) => KNOWN.has(name))) return null;
  const fragment = purifier.sanitize(text, FRAGMENT);
  const host = fragment.ownerDocument.createElement("div");
  host.append(fragment);
  for (const element of host.querySelectorAll("img")) element.outerHTML = imageOf(element.getAttribute("src") ?? "", element.alt);
  for (const element of host.querySelectorAll("a")) {
    if (!LINKED.test(element.getAttribute("href") ?? "")) element.replaceWith(...element.childNodes);
  }
  for (const element of host.querySelectorAll(HEADINGS.join())) toParagraph(element);
  for (const element of host.querySelectorAll("table")) wrap(element);
  return host.innerHTML;
}

/** Return an image that is part of the answer, a link to another one, or its text. */
export function imageOf(address: string, text: string): string {
  return image(address, text) ?? link(address, null, escapeHtml(text || address));
}

/** Show a heading as a strong paragraph, because the outline of the page knows the headings of Markdown alone. */
function toParagraph(heading: Element): void {
  const { ownerDocument } = heading;
  const paragraph = ownerDocument.createElement("p");
  const align = heading.getAttribute("align");
  if (align !== null) paragraph.setAttribute("align", align);
  const strong = ownerDocument.createElement("strong");
  strong.append(...heading.childNodes);
  paragraph.append(strong);
  heading.replaceWith(paragraph);
}

/** Put a table into the element in which wide tables scroll. */
function wrap(table: Element): void {
  const scroller = table.ownerDocument.createElement("div");
  scroller.className = "table";
  scroller.dir = "auto";
  table.replaceWith(scroller);
  scroller.append(table);
}
