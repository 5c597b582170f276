import type { ApiClient } from "../services/api/client";
import { ApiError } from "../services/api/errors";
import { followLive, type LiveObserver } from "../services/api/live_stream";
import type { LiveSample, TierId } from "../services/api/types";
import { SHOWN_SECONDS } from "../services/live/columns";
import { tiersOf } from "../services/tiers";

export type LiveState = "connecting" | "live" | "away" | "refused";

/** Samples of the last minutes, followed while the page is visible. */
export class Live {
  samples = $state.raw<readonly LiveSample[]>([]);
  state = $state<LiveState>("connecting");
  readonly last = $derived(this.samples.at(-1) ?? null);
  private readonly tierIds = $derived(JSON.stringify(Object.keys(this.last?.tiers ?? {})));
  /** Tiers of the last sample. The list stays the same object while the ids are the same, so that no chart is created again. */
  readonly tiers = $derived(tiersOf(JSON.parse(this.tierIds) as TierId[]));

  private leaving: AbortController | null = null;
  private readonly observer: LiveObserver = {
    lastEventId: null,
    sample: (sample) => this.put(sample),
    lost: () => (this.state = "away"),
  };

  constructor(private readonly api: ApiClient) {}

  /** Start following. Return the function that stops this. */
  start(): () => void {
    const onVisibility = () => (document.visibilityState === "visible" ? this.follow() : this.leave());
    document.addEventListener("visibilitychange", onVisibility);
    onVisibility();
    return () => {
      document.removeEventListener("visibilitychange", onVisibility);
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
    // A known sample is skipped. A clock that was set back further than the shown time starts a new history.
    if (sample.at <= last && sample.at > last - SHOWN_SECONDS) return;
    this.samples = [...this.samples.filter(({ at }) => at < sample.at && at > sample.at - SHOWN_SECONDS), sample];
  }
}
