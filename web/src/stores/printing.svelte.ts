import { flushSync } from "svelte";

/** Whether the page is being printed. Then all of the open chat is drawn, however far from the screen. */
export class Printing {
  now = $state(false);
  private forget = () => undefined as void;

  /** load: loads all of the chat before it returns. The function that it returns forgets what was not loaded before. */
  constructor(private readonly load: () => () => void) {}

  /** Start listening to the browser. Return the function that stops this. */
  start(): () => void {
    // The browser prints what is drawn when the handler returns.
    const before = () => {
      if (!this.now) this.forget = this.load();
      flushSync(() => (this.now = true));
    };
    const after = () => {
      if (this.now) this.forget();
      this.now = false;
    };
    addEventListener("beforeprint", before);
    addEventListener("afterprint", after);
    return () => {
      removeEventListener("beforeprint", before);
      removeEventListener("afterprint", after);
    };
  }
}
