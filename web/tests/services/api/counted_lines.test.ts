import { expect, it } from "vitest";

import { withLinesCounted } from "../../../src/services/api/counted_lines";
import { UnreachableError } from "../../../src/services/api/errors";

function sent(pieces: readonly string[], broken = false): Response {
  const left = [...pieces];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = left.shift();
      if (piece !== undefined) controller.enqueue(new TextEncoder().encode(piece));
      else if (broken) controller.error(new TypeError("network error"));
      else controller.close();
    },
  });
  return new Response(body, { headers: { "Content-Type": "application/json" } });
}

it("reports the lines as they arrive, and returns the whole file", async () => {
  const counts: number[] = [];
  const file = await withLinesCounted(sent(["a\nb", "\n\n", "c"]), (lines) => counts.push(lines));
  expect(counts).toEqual([1, 3, 3]);
  expect([file.size, file.type]).toEqual([6, "application/json"]);
});

it("says that the server cannot be reached if the connection breaks", async () => {
  await expect(withLinesCounted(sent(["a\n"], true), () => undefined)).rejects.toThrow(UnreachableError);
});
