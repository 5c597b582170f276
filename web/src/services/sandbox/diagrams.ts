import { afterFrame } from "./after_frame";
import { fillFrame } from "./frame";

/** Drawn diagram: the address of an image, and its size in px. */
export interface Drawing {
  address: string;
  width: number;
  height: number;
}

interface Reply {
  id: number | "ready";
  drawing?: { svg: string; width: number; height: number };
  problem?: string;
}

const DEADLINE_MS = 20_000;
/** Drawings that are kept, since messages far from the screen are unmounted. */
const KEPT = 60;

/**
 * Renderer of Mermaid's diagrams. The first diagram loads the library into one hidden, sandboxed frame. The page shows the
 * results as images, in which nothing can run or be loaded.
 */
export class Diagrams {
  private frame: Promise<HTMLIFrameElement> | null = null;
  private turn: Promise<unknown> = Promise.resolve();
  /** Resolves after the frame before which the last waiting preview was to open. */
  private previews: Promise<unknown> = Promise.resolve();
  private requests = 0;
  private readonly drawings = new Map<string, Promise<Drawing>>();

  /** Draw a diagram. Rejects with Mermaid's message for an invalid one. */
  draw(source: string, dark: boolean): Promise<Drawing> {
    const key = `${dark} ${source}`;
    const known = this.drawings.get(key);
    if (known !== undefined) return known;
    const drawn = this.turn.then(() => this.request(source, dark));
    // One at a time, so that a diagram that never ends fails alone.
    this.turn = drawn.catch(() => undefined);
    this.drawings.set(key, drawn);
    if (this.drawings.size > KEPT) this.drawings.delete(this.drawings.keys().next().value!);
    return drawn;
  }

  /**
   * Wait for the diagrams that were asked for, and for a turn to open a preview. Sandboxed frames share one process. A frame that is
   * opened while a diagram is drawn stays empty until then, and the browser delays the page's own frames for it. A frame lies between
   * two turns, since opening a preview may take most of a frame.
   */
  async finished(): Promise<void> {
    this.previews = Promise.all([this.previews, this.turn]).then(afterFrame);
    await this.previews;
  }

  private async request(source: string, dark: boolean): Promise<Drawing> {
    const id = this.requests++;
    const frame = await (this.frame ??= this.start());
    const reply = this.reply(frame, id);
    frame.contentWindow!.postMessage({ id, source, dark }, "*");
    const { drawing, problem } = await reply;
    if (drawing === undefined) throw new Error(problem ?? "");
    const { svg, width, height } = drawing;
    const address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
    await loaded(address);
    return { address, width, height };
  }

  private async start(): Promise<HTMLIFrameElement> {
    const frame = document.createElement("iframe");
    try {
      const [{ default: address }, { default: program }] = await Promise.all([
        import("mermaid/dist/mermaid.min.js?url"),
        import("./diagram_program.js?raw"),
      ]);
      const response = await fetch(address);
      if (!response.ok) throw new Error(response.statusText);
      // A blob is passed on unread. As a text, the library would occupy the page's thread for several frames.
      const library = await response.blob();
      frame.tabIndex = -1;
      frame.ariaHidden = "true";
      // Laid out, since Mermaid measures texts, but out of sight. Some diagrams are as wide as the frame.
      frame.style.cssText = "position: fixed; inset: 0 auto auto -2000px; width: 720px; height: 1200px; border: 0; visibility: hidden";
      const ready = this.reply(frame, "ready");
      fillFrame(frame, { html: "<!doctype html><body></body>", script: new Blob([library, "\n", program]) });
      document.body.append(frame);
      await ready;
    } catch (error) {
      this.end(frame);
      throw error;
    }
    return frame;
  }

  private reply(frame: HTMLIFrameElement, id: Reply["id"]): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const stop = new AbortController();
      const timer = setTimeout(() => {
        stop.abort();
        this.end(frame);
        reject(new Error("timeout"));
      }, DEADLINE_MS);
      const onMessage = ({ source, data }: MessageEvent<Reply>) => {
        if (source !== frame.contentWindow || data.id !== id) return;
        stop.abort();
        clearTimeout(timer);
        resolve(data);
      };
      addEventListener("message", onMessage, { signal: stop.signal });
    });
  }

  private end(frame: HTMLIFrameElement): void {
    frame.remove();
    this.frame = null;
  }
}

/**
 * Wait until the browser has read an image, which it then shows faster, and has drawn a frame. Receiving a diagram, reading it and
 * showing it take a frame each.
 */
async function loaded(address: string): Promise<void> {
  await afterFrame();
  const image = new Image();
  await new Promise((resolve) => {
    image.onload = image.onerror = resolve;
    image.src = address;
  });
  await afterFrame();
}
