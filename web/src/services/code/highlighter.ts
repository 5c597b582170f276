export interface Asked {
  id: number;
  code: string;
  language: string;
}

export interface Found {
  id: number;
  pieces: string[] | null;
}

/** Colours code beside the page; the first call fetches what that takes. */
export class Highlighter {
  private worker: Worker | null = null;
  private asked = 0;
  private readonly waiting = new Map<number, (pieces: string[] | null) => void>();

  /** As `highlight`; null also where the highlighter could not be fetched, as code without colours is still readable. */
  colour(code: string, language: string): Promise<string[] | null> {
    const asked: Asked = { id: this.asked++, code, language };
    return new Promise((resolve) => {
      this.waiting.set(asked.id, resolve);
      this.worker ??= this.start();
      this.worker.postMessage(asked);
    });
  }

  private start(): Worker {
    const worker = new Worker(new URL("./highlight_worker.ts", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data }: MessageEvent<Found>) => {
      this.waiting.get(data.id)?.(data.pieces);
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
