export const LIVE_PATH = "/live";
const CHAT_PATH = /^\/c\/([^/]+)\/?$/;

/** The address: `/` for the empty page, `/c/{id}` with an optional `?at={message}`, or `/live`. */
export class Router {
  conversationId = $state<string | null>(idOf(location.pathname));
  /** The message in the address, whose branch is shown. */
  messageId = $state<string | null>(messageOf(location.search));
  /** That message, until it has been scrolled into view. */
  scrollTarget = $state(this.messageId);
  /** Whether the live page is shown instead of a chat. */
  isLive = $state(location.pathname === LIVE_PATH);

  /** Follow the browser's back and forward buttons. Return the function that stops this. */
  start(): () => void {
    const onPop = () => {
      this.conversationId = idOf(location.pathname);
      this.messageId = this.scrollTarget = messageOf(location.search);
      this.isLive = location.pathname === LIVE_PATH;
    };
    addEventListener("popstate", onPop);
    return () => removeEventListener("popstate", onPop);
  }

  /** Navigate to a chat and a message in it; null: to the empty page. */
  go(id: string | null, messageId: string | null = null): void {
    if (id === this.conversationId && messageId === this.messageId && !this.isLive) return;
    history.pushState(null, "", pathOf(id, messageId));
    this.conversationId = id;
    this.messageId = this.scrollTarget = messageId;
    this.isLive = false;
  }

  goLive(): void {
    if (this.isLive) return;
    history.pushState(null, "", LIVE_PATH);
    this.conversationId = this.messageId = this.scrollTarget = null;
    this.isLive = true;
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

function idOf(path: string): string | null {
  const id = CHAT_PATH.exec(path)?.[1];
  return id === undefined ? null : decodeURIComponent(id);
}

function messageOf(search: string): string | null {
  return new URLSearchParams(search).get("at");
}
