import type { Api } from "../services/api";

/** The server believes it for half a minute. */
const AGAIN_MS = 20_000;
const LOOK_MS = 1_000;

/** Tells the server that the open chat may go on, so that its KV is near when the question comes. */
export class Warmth {
  private id: string | null = null;
  private told = 0;
  private warming = false;

  constructor(
    private readonly api: Api,
    /** Told a chat whose KV has moved. */
    private readonly onMoved: (id: string) => void,
  ) {}

  /** Chat `id`, or the empty page, is open now; the one before is not. hot: nothing needs to come up for it yet. */
  open(id: string | null, hot: boolean): void {
    if (this.id !== null && this.id !== id && this.warming) void this.api.leave(this.id).catch(() => undefined);
    this.id = id;
    this.told = 0;
    this.warming = false;
    if (!hot) this.tell();
  }

  /** A key was pressed in it. */
  type(): void {
    if (Date.now() - this.told >= AGAIN_MS) this.tell();
  }

  private tell(): void {
    const { id } = this;
    if (id === null) return;
    this.told = Date.now();
    this.api.warm(id).then(
      (warming) => {
        if (!warming) return;
        if (id === this.id) this.warming = true;
        setTimeout(() => this.onMoved(id), LOOK_MS);
      },
      () => undefined,
    );
  }
}
