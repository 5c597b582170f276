const PART = /<\/span>|<span class="([\w -]+)">|[^<]+|</g;
const ENTITIES: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'" };

/**
 * What the highlighter makes of code, as nodes: spans with a class, and text. Whatever `html` says, nothing else comes of
 * it, so it needs no sanitiser; that would take most of a frame for a few dozen lines.
 */
export function codeNodes(html: string): DocumentFragment {
  const whole = document.createDocumentFragment();
  const open: Node[] = [];
  for (const [part, classes] of html.matchAll(PART)) {
    const parent = open.at(-1) ?? whole;
    if (part === "</span>") open.pop();
    else if (classes !== undefined) {
      const span = document.createElement("span");
      span.className = classes;
      open.push(parent.appendChild(span));
    } else parent.appendChild(document.createTextNode(unescape(part)));
  }
  return whole;
}

function unescape(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#x27);/g, (entity) => ENTITIES[entity]!);
}
