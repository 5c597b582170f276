import { ApiError, UnreachableError } from "./errors";
import { readMessages } from "./event_stream";
import type { EventOf } from "./http";
import type { ModelProgress } from "./types";

type LoadEvent = EventOf<"post", "/api/models/load">;

/** Follow a load until the model is in memory. Rejects with ApiError if it cannot be loaded, UnreachableError or AbortError. */
export async function readLoad(response: Response, signal: AbortSignal, onstep: (progress: ModelProgress) => void): Promise<void> {
  for await (const { event, data } of readMessages(response, signal)) {
    const message = { event, data: JSON.parse(data) as unknown } as LoadEvent;
    if (message.event === "error") throw new ApiError(500, message.data.error);
    onstep(message.data);
    if (message.event === "loaded") return;
  }
  throw new UnreachableError();
}
