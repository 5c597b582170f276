import { highlight } from "./highlight";
import type { Asked, Found } from "./highlighter";

// A thread of its own: colouring a thousand lines takes longer than a frame, and some regular expressions take for ever.
addEventListener("message", ({ data }: MessageEvent<Asked>) => {
  const found: Found = { id: data.id, pieces: highlight(data.code, data.language) };
  postMessage(found);
});
