import { escapeHtml } from "./escape";

/** Addresses that links may have. A relative address would lead into the page, not to a file that the model means. */
export const LINKED = /^(?:https?:|mailto:)/i;

/** Images that are shown. They are part of the answer, so no request is made for them. */
export const SHOWN_IMAGE = /^data:image\/(?:png|jpeg|gif|webp);base64,[a-z0-9+/]+=*$/i;

/** Return an image that is part of the answer; null for any other address. */
export function image(href: string, text: string): string | null {
  return SHOWN_IMAGE.test(href) ? `<img src="${href}" alt="${escapeHtml(text)}">` : null;
}

/** Return a link, or its text alone, with the address as its title, if the address is not allowed. */
export function link(href: string, title: string | null | undefined, html: string): string {
  if (!LINKED.test(href)) return `<span title="${escapeHtml(href)}">${html}</span>`;
  return `<a href="${escapeHtml(href)}"${title ? ` title="${escapeHtml(title)}"` : ""}>${html}</a>`;
}
