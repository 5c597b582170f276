import type { ApiClient } from "../services/api/client";
import type { Health } from "../services/api/types";

const BUSY_MS = 1_000;
const CALM_MS = 15_000;
const TIMEOUT_MS = 5_000;

/** Whether the server is there and ready, asked for often while it is not and seldom while it is. */
export class HealthStore {
  current = $state<Health | null>(null);
  reachable = $state(true);
  readonly ready = $derived(this.reachable && this.current?.status === "ok");

  private timer: ReturnType<typeof setTimeout> | undefined;
  private asked = 0;
  private latest: Promise<void> = Promise.resolve();
  private waiters: (() => void)[] = [];

  constructor(private readonly api: ApiClient) {}

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

  /** Resolves when what was asked last is known. */
  poll(): Promise<void> {
    clearTimeout(this.timer);
    this.latest = this.ask(++this.asked);
    return this.latest;
  }

  private async ask(number: number): Promise<void> {
    const health = await this.api.health(AbortSignal.timeout(TIMEOUT_MS)).catch(() => null);
    // An answer that comes after a later question says what was.
    if (number !== this.asked) return this.latest;
    this.reachable = health !== null;
    this.current = health ?? this.current;
    if (this.ready) for (const wake of this.waiters.splice(0)) wake();
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
