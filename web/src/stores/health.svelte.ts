import { t } from "../i18n/language.svelte";
import type { ApiClient } from "../services/api/client";
import { ApiError, UnreachableError } from "../services/api/errors";
import type { Health } from "../services/api/types";
import { capitalised, describeStep } from "../services/start_step";

/** Pauses between requests while the server is not ready, and while it is. */
const NOT_READY_MS = 1_000;
const READY_MS = 15_000;
const TIMEOUT_MS = 5_000;

/** Health of the server, requested every second until the server is ready, and every 15 s after that. */
export class HealthStore {
  current = $state<Health | null>(null);
  reachable = $state(true);
  readonly ready = $derived(this.reachable && this.current?.status === "ok");
  /** Text of why the server is not ready, or slower than it could be; null if all is well. */
  readonly trouble = $derived.by(() => {
    const texts = t().server;
    if (!this.reachable) return texts.unreachable;
    if (this.current === null) return null;
    const { status, model, reason, reason_code } = this.current;
    const progress = this.current.starting ?? "";
    switch (status) {
      case "ok":
        return model?.device_note ? texts.slower(model.device_note) : null;
      case "starting":
        return describeStep(progress);
      case "stopping":
        return texts.stopping;
      case "recovering":
        return texts.recovering;
      case "degraded":
        return texts.degraded(reason ?? "", reason_code ?? "");
      case "failed":
        return model === null ? texts.failed(capitalised(progress)) : texts.restarting;
    }
  });

  private timer: ReturnType<typeof setTimeout> | undefined;
  private requests = 0;
  private latest: Promise<void> = Promise.resolve();
  private waiters: (() => void)[] = [];

  constructor(private readonly api: ApiClient) {}

  /** Start polling. Return the function that stops this. */
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

  /** Request the health now. Resolves when the latest request is answered. */
  poll(): Promise<void> {
    clearTimeout(this.timer);
    this.latest = this.request(++this.requests);
    return this.latest;
  }

  private async request(number: number): Promise<void> {
    const health = await this.api.health(AbortSignal.timeout(TIMEOUT_MS)).catch(() => null);
    // The response to an earlier request is outdated.
    if (number !== this.requests) return this.latest;
    this.reachable = health !== null;
    this.current = health ?? this.current;
    if (this.ready) for (const wake of this.waiters.splice(0)) wake();
    this.timer = setTimeout(() => void this.poll(), this.ready ? READY_MS : NOT_READY_MS);
  }

  /** Wait until the server is ready. Rejects after `signal`. */
  whenReady(signal: AbortSignal): Promise<void> {
    if (this.ready) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.waiters.push(resolve);
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  }

  /** Rethrow the error of a request, unless the server is away, starting or stopping: then the request may be repeated. */
  async rethrowIfReady(error: unknown, signal: AbortSignal): Promise<null> {
    signal.throwIfAborted();
    await this.poll();
    const repeatable = error instanceof UnreachableError || (error instanceof ApiError && error.status === 503);
    if (repeatable && !this.ready) return null;
    throw error;
  }
}
