import { flushSync, mount, unmount } from "svelte";
import { vi } from "vitest";

import Host from "./components/chat/markdown/Host.svelte";

/** Observer for jsdom, which has none and lays nothing out. */
class NoObserver {
  observe(): void {}
  unobserve(): void {}
}

/** Draw a complete text, in a document that loads nothing: in jsdom's own, an image needs a canvas of Node. */
export function drawn(text: string): HTMLElement {
  vi.stubGlobal("IntersectionObserver", NoObserver);
  const target = document.implementation.createHTMLDocument().createElement("div");
  const mounted = mount(Host, { target, props: { texts: [text], printing: true } });
  flushSync();
  const host = target.ownerDocument.createElement("div");
  const groups = target.querySelectorAll(".block-group");
  host.innerHTML = [...groups].map(({ innerHTML }) => innerHTML.replace(/<!--.*?-->/g, "")).join("");
  void unmount(mounted);
  return host;
}
