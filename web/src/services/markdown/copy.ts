/** Contents of the clipboard: a text, and the same text with its formatting. */
export interface Copy {
  text: string;
  html: string;
}

/** A typeset equation in the document, with its source. */
const TYPESET = ".typeset";
/** Controls of the page among the text. */
const CONTROLS = "button, iframe, [aria-live], [data-not-copied]";
/** Attributes that other programs understand. */
const KEPT: ReadonlySet<string> = new Set(["align", "alt", "checked", "disabled", "href", "open", "src", "start", "title", "type"]);

/** Return the selection with its equations as TeX; null if it contains none. */
export function copyOfSelection(): Copy | null {
  const selection = getSelection();
  if (selection === null || selection.isCollapsed || selection.rangeCount === 0) return null;
  const range = selection.getRangeAt(0).cloneRange();
  // A part of an equation has no source of its own.
  const [first, last] = [typesetAt(range.startContainer), typesetAt(range.endContainer)];
  if (first !== null) range.setStartBefore(first);
  if (last !== null) range.setEndAfter(last);
  const contents = range.cloneContents();
  if (contents.querySelector(TYPESET) === null) return null;
  return copyOf(contents);
}

/** Return the HTML of a text in the document, for other programs. Equations are TeX. */
export function htmlOf(element: Element): string {
  const host = document.createElement("div");
  for (const child of element.childNodes) host.append(child.cloneNode(true));
  writeEquations(host);
  clean(host);
  return host.innerHTML;
}

/** Return the copy of nodes that are not in the document. */
function copyOf(contents: DocumentFragment): Copy {
  const host = document.createElement("div");
  host.append(contents);
  writeEquations(host);
  return { text: textOf(host), html: htmlOf(host) };
}

function writeEquations(host: Element): void {
  for (const equation of host.querySelectorAll<HTMLElement>(TYPESET)) equation.replaceWith(equation.dataset["source"] ?? "");
}

/** Return the text of `host` as the browser lays it out, with its line breaks. */
function textOf(host: HTMLElement): string {
  for (const control of host.querySelectorAll(CONTROLS)) control.remove();
  host.style.cssText = "position: fixed; inset-inline-start: -100vw; width: 100vw";
  document.body.append(host);
  const text = host.innerText;
  host.remove();
  return text;
}

/** Remove what only the page needs: controls, comments, links within the page, and attributes without a meaning elsewhere. */
function clean(host: HTMLElement): void {
  for (const control of host.querySelectorAll(CONTROLS)) control.remove();
  for (const link of host.querySelectorAll('a[href^="#"]')) link.replaceWith(...link.childNodes);
  const walker = document.createTreeWalker(host, NodeFilter.SHOW_COMMENT);
  const comments: Comment[] = [];
  while (walker.nextNode() !== null) comments.push(walker.currentNode as Comment);
  for (const comment of comments) comment.remove();
  for (const element of host.querySelectorAll("*")) {
    for (const name of element.getAttributeNames()) if (!KEPT.has(name)) element.removeAttribute(name);
  }
}

function typesetAt(node: Node): Element | null {
  const element = node instanceof Element ? node : node.parentElement;
  return element?.closest(TYPESET) ?? null;
}
