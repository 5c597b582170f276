import type { Api } from "../services/api";
import { ApiError } from "../services/errors";
import { followLive } from "../services/live_stream";
import type { LiveSample } from "../services/types";

/** How much of the past is kept and drawn. */
export const SHOWN_SECONDS = 300;

export type LiveState = "connecting" | "live" | "away" | "refused";

/** The server's numbers of the last minutes, followed while somebody can see them. */
export class Live {
  samples = $state.raw<readonly LiveSample[]>([]);
  state = $state<LiveState>("connecting");
  readonly last = $derived(this.samples.at(-1) ?? null);

  private leaving: AbortController | null = null;

  constructor(private readonly api: Api) {}

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
    if (this.leaving !== null || this.state === "refused") return;
    this.leaving = new AbortController();
    const { signal } = this.leaving;
    const observer = { sample: (sample: LiveSample) => this.put(sample), lost: () => (this.state = "away") };
    followLive(this.api, observer, signal).catch((error: unknown) => {
      if (error instanceof ApiError) this.state = "refused";
    });
  }

  private leave(): void {
    this.leaving?.abort();
    this.leaving = null;
  }

  /** A server that does not know our place, as after its restart, tells again what it has. */
  private put(sample: LiveSample): void {
    const kept = this.samples.filter(({ at }) => at < sample.at && at > sample.at - SHOWN_SECONDS);
    this.samples = [...kept, sample];
    this.state = "live";
  }
}
