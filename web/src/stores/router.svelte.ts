const CHAT_PATH = /^\/c\/([^/]+)\/?$/;

/** The conversation in the address bar: `/c/{id}`, or null for the empty page. */
export class Router {
  conversationId = $state<string | null>(idOf(location.pathname));

  /** Follows back and forward; the returned function stops. */
  start(): () => void {
    const onPop = () => (this.conversationId = idOf(location.pathname));
    addEventListener("popstate", onPop);
    return () => removeEventListener("popstate", onPop);
  }

  go(id: string | null, how: "push" | "replace" = "push"): void {
    if (id === this.conversationId) return;
    history[how === "push" ? "pushState" : "replaceState"](null, "", pathOf(id));
    this.conversationId = id;
  }
}

export function pathOf(id: string | null): string {
  return id === null ? "/" : `/c/${encodeURIComponent(id)}`;
}

function idOf(path: string): string | null {
  const id = CHAT_PATH.exec(path)?.[1];
  return id === undefined ? null : decodeURIComponent(id);
}
