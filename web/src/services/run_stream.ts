import { createParser, type EventSourceMessage } from "eventsource-parser";

import type { Api } from "./api";
import { ApiError, UnreachableError } from "./errors";
import type { Conversation, ErrorBody, Message } from "./types";

/**
 * One generation seen from the page. A run is not a connection: the server goes on without us, so a connection that
 * breaks is opened again after the last event that arrived (`Last-Event-ID`), until a terminal event is here.
 */
export type RunEvent =
  | { kind: "run"; run_id: string; conversation: Conversation; user_message: Message; message: Message }
  | { kind: "snapshot"; run_id: string; message: Message }
  | { kind: "delta"; text: string; reasoning?: string }
  | { kind: "done"; message: Message }
  | { kind: "error"; error: ErrorBody; message: Message };

/** `finished`: a terminal event arrived. `gone`: the server has no more to say, read the conversation instead. */
export type RunEnd = "finished" | "gone";

export interface RunObserver {
  event(event: RunEvent): void;
  connected(): void;
  lost(): void;
}

const KINDS = new Set(["run", "snapshot", "delta", "done", "error"]);
/** The server pings every 15 s; a connection that is silent for longer than this is dead. */
const SILENCE_MS = 40_000;
const BACKOFF_MS = [250, 500, 1_000, 2_000, 4_000];

/**
 * Follows a run to its end. `first` is the response of the request that started it, or null to attach to a run that
 * is already going. Rejects with AbortError after `signal`, with ApiError where the server refuses for good.
 */
export async function followRun(
  api: Api,
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
    await pause(BACKOFF_MS[Math.min(failures++, BACKOFF_MS.length - 1)]!, signal);
  }
}

function decode(message: EventSourceMessage): RunEvent | null {
  if (message.event === undefined || !KINDS.has(message.event)) return null;
  return { ...(JSON.parse(message.data) as object), kind: message.event } as RunEvent;
}

async function* readMessages(response: Response, signal: AbortSignal): AsyncGenerator<EventSourceMessage> {
  if (response.body === null) throw new UnreachableError();
  const ready: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (message) => ready.push(message) });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await orSilence(reader.read(), signal);
      if (done) return;
      parser.feed(value);
      yield* ready.splice(0);
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

function orSilence<T>(read: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onDead = () => settle(() => reject(new UnreachableError()));
    const timer = setTimeout(onDead, SILENCE_MS);
    const onAbort = () => settle(() => reject(signal.reason));
    const settle = (finish: () => void) => {
      clearTimeout(timer);
      removeEventListener("offline", onDead);
      signal.removeEventListener("abort", onAbort);
      finish();
    };
    // Without a network nothing tells that a connection is dead, so it counts as dead.
    addEventListener("offline", onDead);
    signal.addEventListener("abort", onAbort);
    read.then(
      (value) => settle(() => resolve(value)),
      (error) => settle(() => reject(error)),
    );
  });
}

/** Waits `ms`, or less where the browser says that the network is back. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (finish: () => void) => () => {
      clearTimeout(timer);
      removeEventListener("online", onOnline);
      signal.removeEventListener("abort", onAbort);
      finish();
    };
    const onOnline = done(resolve);
    const onAbort = done(() => reject(signal.reason));
    const timer = setTimeout(done(resolve), ms);
    addEventListener("online", onOnline);
    signal.addEventListener("abort", onAbort);
  });
}
