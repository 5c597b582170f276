import { expect, it, vi } from "vitest";

import { ApiError } from "../../src/services/api/errors";
import { Comparison } from "../../src/stores/comparison.svelte";
import { FakeApi, message, Wire } from "../fake_server";

const NO_SETTINGS = { params: {}, model: null };

it("writes each answer with its own settings and model", async () => {
  const api = new FakeApi();
  const done = (content: string) => ({ message: message({ content, status: "complete" }) });
  api.sent = [new Wire("run_a").send(1, "done", done("Low")).response, new Wire("run_b").send(1, "done", done("High")).response];
  const comparison = new Comparison(api, "conv_1", "msg_q");

  await comparison.start([{ params: { temperature: 0 }, model: "ant" }, { params: { temperature: 1.5 }, model: null }]);

  expect(api.retried.map(([asked]) => asked)).toEqual(["msg_q", "msg_q"]);
  expect(api.retriedWith).toEqual([{ params: { temperature: 0 }, model: "ant" }, { params: { temperature: 1.5 } }]);
  expect(comparison.answers.map(({ message: { content } }) => content)).toEqual(["Low", "High"]);
  expect(comparison.writing).toBe(false);
});

it("stops one answer while the other is being written", async () => {
  const api = new FakeApi();
  api.sent = [new Wire("run_a").response, new Wire("run_b").response];
  const comparison = new Comparison(api, "conv_1", "msg_q");
  void comparison.start([NO_SETTINGS, NO_SETTINGS]);
  await vi.waitFor(() => expect(api.retried).toHaveLength(2));

  await comparison.answers[1]!.stop();

  await vi.waitFor(() => expect(comparison.answers.map(({ writing }) => writing)).toEqual([true, false]));
  expect(api.cancelled).toEqual(["run_b"]);
  comparison.leave();
});

it("shows why one of the answers did not start", async () => {
  const api = new FakeApi();
  const done = { message: message({ content: "Yes", status: "complete" }) };
  api.sent = [new ApiError(429, { message: "Concurrency limit reached" }), new Wire().send(1, "done", done).response];
  const comparison = new Comparison(api, "conv_1", "msg_q");

  await comparison.start([NO_SETTINGS, NO_SETTINGS]);

  expect(comparison.answers[0]!.problem?.what).toContain("Concurrency limit reached");
  expect(comparison.answers[1]!.message.content).toBe("Yes");
});
