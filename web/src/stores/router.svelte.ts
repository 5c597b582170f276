export const LIVE_PATH = "/live";
/** A part of the page that has an address: a chat or the empty page, or a view of its own. */
export type View = "chat" | "live" | "admin" | "unknown";

const VIEW_PATHS: Partial<Record<string, View>> = { "/": "chat", [LIVE_PATH]: "live", "/admin": "admin" };
const CHAT_PATH = /^\/c\/([^/]+)\/?$/;

/** The address: `/` for the empty page with an optional `?q={question}`, `/c/{id}` with an optional `?at={message}`, `/live` or `/admin`. */
export class Router {
  conversationId = $state<string | null>(idOf(location.pathname));
  /** The message in the address, whose branch is shown. */
  messageId = $state<string | null>(messageOf(location.search));
  /** That message, until it has been scrolled into view. */
  scrollTarget = $state(this.messageId);
  view = $state<View>(viewOf(location.pathname));
  /** A question for the empty page, from the address that the page was opened with. */
  private question = location.pathname === "/" ? new URLSearchParams(location.search).get("q") : null;

  /** Follow the browser's back and forward buttons. Return the function that stops this. */
  start(): () => void {
    const onPop = () => {
      this.conversationId = idOf(location.pathname);
      this.messageId = this.scrollTarget = messageOf(location.search);
      this.view = viewOf(location.pathname);
    };
    addEventListener("popstate", onPop);
    return () => removeEventListener("popstate", onPop);
  }

  /** Take the question out of the address, so that a reload does not ask it again; null if there is none. */
  takeQuestion(): string | null {
    const { question } = this;
    if (question !== null && this.view === "chat" && this.conversationId === null) this.point(null);
    this.question = null;
    return question?.trim() || null;
  }

  /** Navigate to a chat and a message in it; null: to the empty page. */
  go(id: string | null, messageId: string | null = null): void {
    if (id === this.conversationId && messageId === this.messageId && this.view === "chat") {
      this.scrollTarget = messageId;
      return;
    }
    history.pushState(null, "", pathOf(id, messageId));
    this.conversationId = id;
    this.messageId = this.scrollTarget = messageId;
    this.view = "chat";
  }

  /** Navigate to a view without a chat. */
  goTo(view: "live" | "admin"): void {
    if (this.view === view) return;
    history.pushState(null, "", `/${view}`);
    this.conversationId = this.messageId = this.scrollTarget = null;
    this.view = view;
  }

  /** Replace the address by that of the branch already shown; null: the newest. Going back leaves the chat, not the branch. */
  point(messageId: string | null): void {
    history.replaceState(null, "", pathOf(this.conversationId, messageId));
    this.messageId = messageId;
    this.scrollTarget = null;
  }
}

/** Return the path of a chat and a message in it; null: of the empty page. */
export function pathOf(id: string | null, messageId: string | null = null): string {
  const at = messageId === null ? "" : `?at=${encodeURIComponent(messageId)}`;
  return id === null ? "/" : `/c/${encodeURIComponent(id)}${at}`;
}

function viewOf(path: string): View {
  return VIEW_PATHS[path] ?? (idOf(path) === null ? "unknown" : "chat");
}

function idOf(path: string): string | null {
  const id = CHAT_PATH.exec(path)?.[1];
  try {
    return id === undefined ? null : decodeURIComponent(id);
  } catch {
    // Escapes that are no UTF-8.
    return null;
  }
}

function messageOf(search: string): string | null {
  return new URLSearchParams(search).get("at");
}
