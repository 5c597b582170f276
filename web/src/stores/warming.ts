import type { ApiClient } from "../services/api/client";
import type { Place } from "../services/api/types";

/** The server believes it for half a minute. */
const AGAIN_MS = 20_000;
/** How long to wait before each look where it has come to: it may be on its way behind others for a while. */
const LOOKS_MS = [1_000, 2_000, 4_000, 8_000];

/** Tells the server that the open chat may go on, so that its KV is near when the question comes. */
export class Warming {
  private id: string | null = null;
  private told = 0;
  private warming = false;

  constructor(
    private readonly api: ApiClient,
    /** Asks where the KV of a chat is that is on its way up. */
    private readonly look: (id: string) => Promise<Place>,
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
        void this.follow(id);
      },
      () => undefined,
    );
  }

  /** Until it is hot, or somewhere below while another chat is open. */
  private async follow(id: string): Promise<void> {
    for (const wait of LOOKS_MS) {
      await new Promise((done) => setTimeout(done, wait));
      if ((await this.look(id)) === "device" || id !== this.id) return;
    }
  }
}
