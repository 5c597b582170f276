import { flushSync } from "svelte";

/** Whether the page is being printed: then all of the open chat is in it, also what is far from the screen. */
export class Printing {
  now = $state(false);

  /** Returns what ends it. */
  start(): () => void {
    // What is not drawn when the event has been handled is not on the paper.
    const before = () => flushSync(() => (this.now = true));
    const after = () => void (this.now = false);
    addEventListener("beforeprint", before);
    addEventListener("afterprint", after);
    return () => {
      removeEventListener("beforeprint", before);
      removeEventListener("afterprint", after);
    };
  }
}
