const TOKEN = /<\/span>|<span class="([\w -]+)">|[^<]+|</g;
const ENTITIES: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'" };

/**
 * Parse highlighted code into spans with a class, and text. No `html` can produce other nodes, so no sanitiser is needed,
 * which would take most of a frame for a few dozen lines.
 */
export function codeNodes(html: string): DocumentFragment {
  const whole = document.createDocumentFragment();
  const open: Node[] = [];
  for (const [token, classes] of html.matchAll(TOKEN)) {
    const parent = open.at(-1) ?? whole;
    if (token === "</span>") open.pop();
    else if (classes !== undefined) {
      const span = document.createElement("span");
      span.className = classes;
      open.push(parent.appendChild(span));
    } else parent.appendChild(document.createTextNode(unescape(token)));
  }
  return whole;
}

function unescape(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#x27);/g, (entity) => ENTITIES[entity]!);
}
