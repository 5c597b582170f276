import { flushSync } from "svelte";

/** Whether the page is being printed. Then all of the open chat is drawn, however far from the screen. */
export class Printing {
  now = $state(false);

  /** Start listening to the browser. Return the function that stops this. */
  start(): () => void {
    // The browser prints what is drawn when the handler returns.
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
