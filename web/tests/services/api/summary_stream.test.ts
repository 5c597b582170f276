import { expect, it, vi } from "vitest";

import { readSummary } from "../../../src/services/api/summary_stream";

const event = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
const read = (ontext: (text: string) => void, ...events: string[]) =>
  readSummary(new Response(events.join("")), new AbortController().signal, ontext);

it("passes on each part of a summary, and returns all of it", async () => {
  const ontext = vi.fn();
  const summary = await read(ontext, event("delta", { text: " High" }), event("delta", { text: " tide" }), event("done", { summary: "High tide" }));
  expect([summary, ontext.mock.calls]).toEqual(["High tide", [[" High"], [" tide"]]]);
});

it("rejects if the model fails, or the connection ends before the summary does", async () => {
  const error = { message: "The engine stopped", type: "server_error", param: null, code: "engine_error" };
  await expect(read(vi.fn(), event("error", { error }))).rejects.toMatchObject({ code: "engine_error" });
  await expect(read(vi.fn(), event("delta", { text: "High" }))).rejects.toMatchObject({ name: "UnreachableError" });
});
