export const LIVE_PATH = "/live";
const CHAT_PATH = /^\/c\/([^/]+)\/?$/;

/** The address bar: `/c/{id}` with, as `?at=`, a message whose branch is shown; `/` for the empty page; `/live`. */
export class Router {
  conversationId = $state<string | null>(idOf(location.pathname));
  /** The message in the address, whose branch is to be shown. */
  messageId = $state<string | null>(messageOf(location.search));
  /** That message, where it is still to be brought into view. */
  sought = $state(this.messageId);
  /** The page of the server's numbers is shown, and no chat. */
  isLive = $state(location.pathname === LIVE_PATH);

  /** Follows back and forward; the returned function stops. */
  start(): () => void {
    const onPop = () => {
      this.conversationId = idOf(location.pathname);
      this.messageId = this.sought = messageOf(location.search);
      this.isLive = location.pathname === LIVE_PATH;
    };
    addEventListener("popstate", onPop);
    return () => removeEventListener("popstate", onPop);
  }

  go(id: string | null, messageId: string | null = null): void {
    if (id === this.conversationId && messageId === this.messageId && !this.isLive) return;
    history.pushState(null, "", pathOf(id, messageId));
    this.conversationId = id;
    this.messageId = this.sought = messageId;
    this.isLive = false;
  }

  goLive(): void {
    if (this.isLive) return;
    history.pushState(null, "", LIVE_PATH);
    this.conversationId = this.messageId = this.sought = null;
    this.isLive = true;
  }

  /** Names the branch that the page shows already, null the newest one; going back leaves the chat, not the branch. */
  point(messageId: string | null): void {
    history.replaceState(null, "", pathOf(this.conversationId, messageId));
    this.messageId = messageId;
    this.sought = null;
  }
}

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
