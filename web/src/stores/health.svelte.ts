import type { Api } from "../services/api";
import type { Health } from "../services/types";

const BUSY_MS = 1_000;
const CALM_MS = 15_000;
const TIMEOUT_MS = 5_000;

/** Whether the server is there and ready, asked for often while it is not and seldom while it is. */
export class HealthStore {
  current = $state<Health | null>(null);
  reachable = $state(true);
  readonly ready = $derived(this.reachable && this.current?.status === "ok");

  private timer: ReturnType<typeof setTimeout> | undefined;
  private waiters: (() => void)[] = [];

  constructor(private readonly api: Api) {}

  /** Starts asking; the returned function stops. */
  start(): () => void {
    const wake = () => void (document.visibilityState === "visible" && this.poll());
    document.addEventListener("visibilitychange", wake);
    addEventListener("online", wake);
    addEventListener("offline", wake);
    void this.poll();
    return () => {
      clearTimeout(this.timer);
      document.removeEventListener("visibilitychange", wake);
      removeEventListener("online", wake);
      removeEventListener("offline", wake);
    };
  }

  async poll(): Promise<void> {
    clearTimeout(this.timer);
    try {
      this.current = await this.api.health(AbortSignal.timeout(TIMEOUT_MS));
      this.reachable = true;
    } catch {
      this.reachable = false;
    }
    if (this.ready) for (const wake of this.waiters.splice(0)) wake();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.poll(), this.ready ? CALM_MS : BUSY_MS);
  }

  /** Resolves when the server is ready to answer; rejects after `signal`. */
  whenReady(signal: AbortSignal): Promise<void> {
    if (this.ready) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.waiters.push(resolve);
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  }
}
