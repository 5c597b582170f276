import type { EventSourceMessage } from "eventsource-parser";

import type { ApiClient } from "./client";
import { ApiError } from "./errors";
import { backOff, readMessages } from "./event_stream";
import type { EventOf } from "./http";

/**
 * Event of a run. A run outlives its connection: when a connection breaks, the page opens another one after the last
 * event that arrived (`Last-Event-ID`), until a terminal event arrives.
 */
export type RunEvent = {
  [E in StreamEvent as E["event"]]: E["data"] & { kind: E["event"] };
}[StreamEvent["event"]];

type StreamEvent = EventOf<"get", "/api/runs/{id}/events">;

/** `finished`: a terminal event arrived. `gone`: the server has no more events; read the conversation instead. */
export type RunEnd = "finished" | "gone";

export interface RunObserver {
  event(event: RunEvent): void;
  connected(): void;
  lost(): void;
}

const KINDS = new Set(["run", "snapshot", "progress", "delta", "done", "error"]);

/**
 * Follow a run to its end. first: the response of the request that started the run; null attaches to a running one.
 * Rejects with AbortError after `signal`, and with ApiError on a permanent refusal.
 */
export async function followRun(
  api: ApiClient,
  runId: string,
  first: Response | null,
  observer: RunObserver,
  signal: AbortSignal,
): Promise<RunEnd> {
  let response = first;
  let lastEventId: string | null = null;
  let failures = 0;
  for (;;) {
    try {
      response ??= await api.runEvents(runId, lastEventId, signal);
      if (response.status === 204) return "gone";
      for await (const message of readMessages(response, signal)) {
        failures = 0;
        observer.connected();
        if (message.id !== undefined) lastEventId = message.id;
        const event = decode(message);
        if (event === null) continue;
        observer.event(event);
        if (event.kind === "done" || event.kind === "error") return "finished";
      }
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ApiError && error.status === 404) return "gone";
      if (error instanceof ApiError && !error.transient) throw error;
    }
    response = null;
    observer.lost();
    await backOff(failures++, signal);
  }
}

function decode(message: EventSourceMessage): RunEvent | null {
  if (message.event === undefined || !KINDS.has(message.event)) return null;
  return { ...(JSON.parse(message.data) as object), kind: message.event } as RunEvent;
}
