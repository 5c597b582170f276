import { ApiError, UnreachableError } from "./errors";
import { readMessages } from "./event_stream";
import type { EventOf } from "./http";

type SummaryEvent = EventOf<"post", "/api/conversations/{id}/summary">;

/** Read a summary that is sent as it is written, and return all of it. Rejects with ApiError, UnreachableError or AbortError. */
export async function readSummary(response: Response, signal: AbortSignal, ontext: (text: string) => void): Promise<string> {
  for await (const { event, data } of readMessages(response, signal)) {
    const message = { event, data: JSON.parse(data) as unknown } as SummaryEvent;
    if (message.event === "delta") ontext(message.data.text);
    else if (message.event === "done") return message.data.summary;
    else if (message.event === "error") throw new ApiError(500, message.data.error);
  }
  throw new UnreachableError();
}
