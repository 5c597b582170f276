import { describe, expect, it } from "vitest";

import { ApiError } from "../../../src/services/api/errors";
import { followRun, type RunEvent } from "../../../src/services/api/run_stream";
import { FakeApi, message, Wire } from "../../fake_server";

function follow(api: FakeApi, first: Response | null, signal = new AbortController().signal) {
  const events: RunEvent[] = [];
  let losses = 0;
  const observer = { event: (event: RunEvent) => events.push(event), connected: () => {}, lost: () => void losses++ };
  const end = followRun(api, "run_1", first, observer, signal);
  return { end, text: () => events.map((event) => (event.kind === "delta" ? event.text : "")).join(""), events, losses: () => losses };
}

describe("following a run", () => {
  it("continues after the last event when the connection breaks", async () => {
    const api = new FakeApi();
    const first = new Wire().send(0, "delta", { text: "one " }).send(1, "delta", { text: "two " }).end();
    const second = new Wire().send(2, "delta", { text: "three " }).end();
    const third = new Wire().send(3, "done", { message: message({ status: "complete" }) });
    api.followed = [new TypeError("no route"), second.response, new ApiError(503, { message: "busy" }), third.response];

    const run = follow(api, first.response);

    expect(await run.end).toBe("finished");
    expect(run.text()).toBe("one two three ");
    expect(api.cursors).toEqual(["run_1:0.1", "run_1:0.1", "run_1:0.2", "run_1:0.2"]);
    expect(run.losses()).toBe(4);
  });

  it("drops its connection when the network goes", async () => {
    const api = new FakeApi();
    const silent = new Wire().send(0, "delta", { text: "one " });
    api.followed = [new Wire().send(1, "done", { message: message({ status: "complete" }) }).response];

    const run = follow(api, silent.response);
    await expect.poll(run.text).toBe("one ");
    dispatchEvent(new Event("offline"));

    expect(await run.end).toBe("finished");
    expect(api.cursors).toEqual(["run_1:0.0"]);
  });

  it("begins with the snapshot without a cursor", async () => {
    const api = new FakeApi();
    const wire = new Wire()
      .send(7, "snapshot", { run_id: "run_1", message: message({ content: "so far" }) })
      .send(8, "error", { error: { message: "x" }, message: message({ status: "failed" }) });
    api.followed = [wire.response];

    const run = follow(api, null);

    expect(await run.end).toBe("finished");
    expect(api.cursors).toEqual([null]);
    expect(run.events.map(({ kind }) => kind)).toEqual(["snapshot", "error"]);
  });

  it("reads events and characters that are split anywhere", async () => {
    const api = new FakeApi();
    const bytes = new TextEncoder().encode('id: run_1:0.0\nevent: delta\ndata: {"text":"é🌊"}\n\n: ping\n\nevent: unknown\ndata: {}\n\n');
    const wire = new Wire();
    for (const byte of bytes) wire.bytes(new Uint8Array([byte]));
    wire.send(1, "done", { message: message({ status: "complete" }) });

    const run = follow(api, wire.response);

    expect(await run.end).toBe("finished");
    expect(run.text()).toBe("é🌊");
    expect(run.events).toHaveLength(2);
  });

  it.each([
    ["has been seen to its end", new Response(null, { status: 204 })],
    ["is not known any more", new ApiError(404, { message: "No such run" })],
  ])("is over when the run %s", async (_case, answer) => {
    const api = new FakeApi();
    api.followed = [answer];
    expect(await follow(api, null).end).toBe("gone");
  });

  it("ends on a permanent refusal, and on abort", async () => {
    const api = new FakeApi();
    api.followed = [new ApiError(403, { message: "Not yours" })];
    await expect(follow(api, null).end).rejects.toThrow("Not yours");

    const leaving = new AbortController();
    const run = follow(api, new Wire().response, leaving.signal);
    leaving.abort();
    await expect(run.end).rejects.toThrow("abort");
  });
});
