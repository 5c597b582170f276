import type { ApiClient } from "../services/api/client";
import { ApiError } from "../services/api/errors";
import { followLive, type LiveObserver } from "../services/api/live_stream";
import type { LiveSample } from "../services/api/types";
import { SHOWN_SECONDS } from "../services/live/columns";

export type LiveState = "connecting" | "live" | "away" | "refused";

/** The server's numbers of the last minutes, followed while somebody can see them. */
export class Live {
  samples = $state.raw<readonly LiveSample[]>([]);
  state = $state<LiveState>("connecting");
  readonly last = $derived(this.samples.at(-1) ?? null);

  private leaving: AbortController | null = null;
  private readonly observer: LiveObserver = {
    lastEventId: null,
    sample: (sample) => this.put(sample),
    lost: () => (this.state = "away"),
  };

  constructor(private readonly api: ApiClient) {}

  /** Starts following; the returned function stops. */
  start(): () => void {
    const look = () => (document.visibilityState === "visible" ? this.follow() : this.leave());
    document.addEventListener("visibilitychange", look);
    look();
    return () => {
      document.removeEventListener("visibilitychange", look);
      this.leave();
    };
  }

  private follow(): void {
    if (this.leaving !== null) return;
    this.leaving = new AbortController();
    followLive(this.api, this.observer, this.leaving.signal).catch((error: unknown) => {
      if (error instanceof ApiError) this.state = "refused";
    });
  }

  private leave(): void {
    this.leaving?.abort();
    this.leaving = null;
  }

  private put(sample: LiveSample): void {
    this.state = "live";
    const last = this.samples.at(-1)?.at ?? -Infinity;
    // It was told already. A clock that was set back by more than what is shown begins anew.
    if (sample.at <= last && sample.at > last - SHOWN_SECONDS) return;
    this.samples = [...this.samples.filter(({ at }) => at < sample.at && at > sample.at - SHOWN_SECONDS), sample];
  }
}
