import { flushSync } from "svelte";
import { expect, it, onTestFinished, vi } from "vitest";

import { start } from "../../src/background/background.svelte";
import { createEbb } from "../../src/ebb";
import { Chat } from "../../src/stores/chat.svelte";
import { HealthStore } from "../../src/stores/health.svelte";
import { conversation, FakeApi, message, Wire } from "../fake_server";

/** Longer than the page rests before it registers the worker. */
const LONG_MS = 10_000;

it("registers the offline worker after an answer, and not while the answer is written", async () => {
  vi.useFakeTimers();
  vi.stubEnv("PROD", true);
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubGlobal("isSecureContext", true);
  vi.stubGlobal("matchMedia", () => new EventTarget());
  const register = vi.fn(() => Promise.resolve());
  vi.stubGlobal("navigator", { languages: ["en"], serviceWorker: Object.assign(new EventTarget(), { register }) });
  const [api, wire] = [new FakeApi(), new Wire()];
  const health = new HealthStore(api);
  await health.poll();
  const chat = new Chat(api, health, () => undefined);
  onTestFinished(start({ ...createEbb(), chat }));
  flushSync();
  await vi.advanceTimersByTimeAsync(1_000);

  api.sent = [wire.response];
  await chat.send("When?");
  const question = message({ id: "msg_1", role: "user", content: "When?", status: "complete", run_id: null, parent_id: null });
  wire.send(0, "run", { run_id: "run_1", conversation: conversation(), user_message: question, message: message() });
  await vi.waitFor(() => expect(chat.phase).toBe("answering"));
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect([chat.phase, register.mock.calls.length]).toEqual(["answering", 0]);

  wire.send(1, "done", { message: message({ content: "At noon.", status: "complete" }) });
  await vi.waitFor(() => expect(chat.phase).toBe("idle"));
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect(register).toHaveBeenCalledOnce();
});
