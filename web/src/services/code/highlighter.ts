import type { HighlightRequest, HighlightResponse } from "./highlight_messages";

/** Client of the worker that highlights code. The first call loads the worker. */
export class Highlighter {
  private worker: Worker | null = null;
  private requests = 0;
  private readonly waiting = new Map<number, (chunks: string[] | null) => void>();

  /** Call `highlight` in the worker. Resolves with null as well if the worker cannot be loaded: plain code is readable. */
  highlight(code: string, language: string): Promise<string[] | null> {
    const request: HighlightRequest = { id: this.requests++, code, language };
    return new Promise((resolve) => {
      this.waiting.set(request.id, resolve);
      this.worker ??= this.start();
      this.worker.postMessage(request);
    });
  }

  private start(): Worker {
    const worker = new Worker(new URL("./highlight_worker.ts", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data }: MessageEvent<HighlightResponse>) => {
      this.waiting.get(data.id)?.(data.chunks);
      this.waiting.delete(data.id);
    });
    worker.addEventListener("error", () => {
      this.worker = null;
      for (const resolve of this.waiting.values()) resolve(null);
      this.waiting.clear();
    });
    return worker;
  }
}
