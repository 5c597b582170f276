import type { ApiClient } from "./client";
import { ApiError } from "./errors";
import { backOff, readMessages } from "./event_stream";
import type { LiveSample } from "./types";

/** Receiver of live samples. lastEventId: the last event received, after which a later connection continues. */
export interface LiveObserver {
  lastEventId: string | null;
  sample(sample: LiveSample): void;
  lost(): void;
}

/**
 * Follow the server's live samples. A connection that ends is opened again after the last sample that arrived. Rejects
 * with AbortError after `signal`, and with ApiError on a permanent refusal.
 */
export async function followLive(api: ApiClient, observer: LiveObserver, signal: AbortSignal): Promise<never> {
  let failures = 0;
  for (;;) {
    try {
      const response = await api.live(observer.lastEventId, signal);
      for await (const message of readMessages(response, signal)) {
        failures = 0;
        if (message.id !== undefined) observer.lastEventId = message.id;
        // Events of unknown kinds are ignored.
        if (message.event === "sample") observer.sample(JSON.parse(message.data) as LiveSample);
      }
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ApiError && !error.transient) throw error;
    }
    observer.lost();
    await backOff(failures++, signal);
  }
}
