import type { ApiClient } from "./client";
import { ApiError } from "./errors";
import { backOff, readMessages } from "./event_stream";
import type { LiveSample } from "./types";

/** Who follows. lastEventId: how far it has come; whoever goes on later goes on from there. */
export interface LiveObserver {
  lastEventId: string | null;
  sample(sample: LiveSample): void;
  lost(): void;
}

/**
 * Follows the server's numbers. A connection that ends is opened again behind the last sample that arrived. Rejects with
 * AbortError after `signal`, with ApiError where the server refuses for good.
 */
export async function followLive(api: ApiClient, observer: LiveObserver, signal: AbortSignal): Promise<never> {
  let failures = 0;
  for (;;) {
    try {
      const response = await api.live(observer.lastEventId, signal);
      for await (const message of readMessages(response, signal)) {
        failures = 0;
        if (message.id !== undefined) observer.lastEventId = message.id;
        // Other kinds of events may come on this stream: they are none of ours.
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
