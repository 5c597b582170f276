import { highlight } from "./highlight";
import type { HighlightRequest, HighlightResponse } from "./highlight_messages";

// A thread of its own: highlighting a thousand lines takes longer than a frame, and some regular expressions never end.
addEventListener("message", ({ data }: MessageEvent<HighlightRequest>) => {
  const response: HighlightResponse = { id: data.id, chunks: highlight(data.code, data.language) };
  postMessage(response);
});
