import type { ApiClient } from "../services/api/client";
import type { TierId } from "../services/api/types";
import { NEAREST_TIER } from "../services/tiers";

/** The server keeps a hint for half a minute. */
const REPEAT_MS = 20_000;
/** Pauses before each look at the chat's tier: its restore may wait behind others. */
const PAUSES_MS = [1_000, 2_000, 4_000, 8_000];

/** Hints to the server that the open chat may continue, so that its KV is in the nearest tier by the next question. */
export class Warming {
  private id: string | null = null;
  private sentAt = 0;
  /** Whether the server restores the open chat's KV because of a hint. */
  private isWarming = false;

  constructor(
    private readonly api: ApiClient,
    /** Return the current tier of a chat, as the server says. */
    private readonly tierOf: (id: string) => Promise<TierId | null>,
  ) {}

  /** Set the open chat, null on the empty page, and withdraw the hint of the previous one. hot: send no hint yet. */
  open(id: string | null, hot: boolean): void {
    if (this.id !== null && this.id !== id && this.isWarming) void this.api.stopWarming(this.id).catch(() => undefined);
    this.id = id;
    this.sentAt = 0;
    this.isWarming = false;
    if (!hot) this.send();
  }

  /** Repeat the hint when the person types, unless the last one is recent. */
  onType(): void {
    if (Date.now() - this.sentAt >= REPEAT_MS) this.send();
  }

  private send(): void {
    const { id } = this;
    if (id === null) return;
    this.sentAt = Date.now();
    this.api.warm(id).then(
      (warming) => {
        if (!warming) return;
        if (id === this.id) this.isWarming = true;
        void this.follow(id);
      },
      () => undefined,
    );
  }

  /** Look at the chat's tier until the chat is hot or left. */
  private async follow(id: string): Promise<void> {
    for (const pause of PAUSES_MS) {
      await new Promise((done) => setTimeout(done, pause));
      if ((await this.tierOf(id)) === NEAREST_TIER || id !== this.id) return;
    }
  }
}
