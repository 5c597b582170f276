import type { LiveSample } from "../src/services/api/types";

export const FIRST = 1_767_225_600;

/** Return a sample of `seconds` after the first one. */
export function sample(seconds: number, changes: Partial<LiveSample> = {}): LiveSample {
  const tier = { state: "ok", used_bytes: 50, capacity_bytes: 100, hit_rate: null, evictions_per_second: 0 };
  return {
    at: FIRST + seconds,
    requests: { running: 1, waiting: 2, preempted: 1, loading: 3, following: 1 },
    batch_size: 1.5,
    generated_tokens_per_second: seconds,
    prompt_tokens_per_second: { device: 0, cpu: 1, redis: 2, computed: 3 },
    breaker: null,
    replicas: [],
    routes: null,
    tiers: { device: tier, cpu: tier, redis: { state: "off: --redis-url off" } },
    ...changes,
  };
}
