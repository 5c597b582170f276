import type { EventSourceMessage } from "eventsource-parser";

import { UnreachableError } from "./errors";

/** A connection that is silent for longer is dead. The server's `SILENCE_SECONDS`, of which its pings take half. */
const SILENCE_MS = 40_000;
const BACKOFF_MS = [250, 500, 1_000, 2_000, 4_000];

/** Yield the events of a response. Rejects with AbortError after `signal`. */
export async function* readMessages(response: Response, signal: AbortSignal): AsyncGenerator<EventSourceMessage> {
  if (response.body === null) throw new UnreachableError();
  const reader = response.body.getReader();
  try {
    // The first view needs no stream.
    const { createParser } = await import("eventsource-parser");
    signal.throwIfAborted();
    const ready: EventSourceMessage[] = [];
    const parser = createParser({ onEvent: (message) => ready.push(message) });
    // A TextDecoderStream would take several promises per token.
    const decoder = new TextDecoder();
    for (;;) {
      const { done, value } = await readUnlessSilent(reader.read(), signal);
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* ready.splice(0);
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/** Wait before the next attempt after `failures` failures, or until the browser reports that the network is back. */
export function backOff(failures: number, signal: AbortSignal): Promise<void> {
  return pause(BACKOFF_MS[Math.min(failures, BACKOFF_MS.length - 1)]!, signal);
}

function readUnlessSilent<T>(read: Promise<T>, signal: AbortSignal): Promise<T> {
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
    // A browser without a network does not notice dead connections, so each counts as dead.
    addEventListener("offline", onDead);
    signal.addEventListener("abort", onAbort);
    read.then(
      (value) => settle(() => resolve(value)),
      (error) => settle(() => reject(error)),
    );
  });
}

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
