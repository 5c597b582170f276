import { flushSync } from "svelte";
import { expect, it, vi } from "vitest";

import Answer from "../../../src/components/chat/Answer.svelte";
import type { Usage } from "../../../src/services/api/types";
import { message } from "../../fake_server";
import { mountWith } from "../mounting";

const usage = { kv: { device: 64, computed: 6 }, ttft_ms: 260 } as unknown as Usage;
const receipt = () => document.querySelector("[data-testid=receipt]")?.textContent.trim();
const text = () => document.querySelector("pre")?.textContent;

/** Show an answer. Return its message, which may change, and a function that draws the next frame. */
function show(changes: Parameters<typeof message>[0], last = true) {
  let due: FrameRequestCallback[] = [];
  vi.stubGlobal("requestAnimationFrame", (frame: FrameRequestCallback) => due.push(frame));
  vi.stubGlobal("cancelAnimationFrame", (frame: number) => void (due[frame - 1] = () => undefined));
  const shown = $state({ ...message(changes), key: "msg_2", sibling_ids: ["msg_2"] });
  mountWith({ chat: { edits: new Map() } } as never, Answer as never, { message: shown, Markdown: null, last, phase: "idle", waiting: null });
  const passFrame = () => {
    const frames = due;
    due = [];
    for (const frame of frames) frame(0);
    flushSync();
  };
  return { shown, passFrame };
}

it("draws the receipt of an answer a frame after the end of its text", () => {
  const { shown, passFrame } = show({ content: "low" });
  passFrame();
  expect([text(), receipt()]).toEqual(["low", undefined]);

  Object.assign(shown, { status: "complete", content: "low tide", usage });
  flushSync();
  expect([text(), receipt()]).toEqual(["low tide", undefined]);
  passFrame();
  expect([text(), receipt()]).toEqual(["low tide", "91% cached · 0.26 s"]);
});

it.each(["before", "after"])("draws the receipt a frame after the end of an answer that continued %s the frame", (when) => {
  const { shown, passFrame } = show({ content: "low" });
  Object.assign(shown, { status: "incomplete", usage });
  flushSync();
  if (when === "after") passFrame();
  shown.status = "in_progress";
  flushSync();
  passFrame();
  expect(receipt()).toBeUndefined();

  shown.status = "complete";
  flushSync();
  expect(receipt()).toBeUndefined();
  passFrame();
  expect(receipt()).toBeDefined();
});

it("draws the progress of the prompt until there is text", async () => {
  const progress = { state: "computing", total: 80, done: 40, reused: {}, computed: 40, seconds_left: null };
  const { shown } = show({ content: "" });
  Object.assign(shown, { progress });
  flushSync();
  await vi.waitFor(() => expect(document.querySelector("[role=progressbar]")).not.toBeNull());
  Object.assign(shown, { content: "low", progress: null });
  flushSync();
  expect([text(), document.querySelector("[role=progressbar]")]).toEqual(["low", null]);
});

it("draws a stored answer with its receipt", () => {
  show({ status: "complete", content: "low tide", usage });
  expect([text(), receipt()]).toEqual(["low tide", "91% cached · 0.26 s"]);
});

it("names the actions of the last answer alone", () => {
  const shown = () => [...document.querySelectorAll(".actions button")].map(({ textContent }) => textContent.trim().split(/\s+/)[0]);
  const labels = () => [...document.querySelectorAll(".actions button")].map(({ ariaLabel }) => ariaLabel);
  const all = ["Copy answer", "Regenerate", "Good answer", "Bad answer", "More actions for this answer"];
  show({ status: "complete", content: "low tide" }, false);
  expect([shown(), labels()]).toEqual([["", "", "", "", ""], all]);
  document.body.replaceChildren();
  show({ status: "complete", content: "low tide" });
  expect([shown(), labels()]).toEqual([["Copy", "Regenerate", "", "", ""], all]);
});

it.each([
  ["of nothing", { content: "" }, /ended without an answer\. Regenerate it/],
  ["of thoughts alone", { content: " \n", reasoning: "Hm." }, /wrote thoughts, but no answer\. Regenerate the answer/],
  ["of thoughts up to the limit", { content: "", reasoning: "Hm.", status: "incomplete", finish_reason: "length" }, /token limit\..*wrote thoughts, but no answer/],
] as const)("says that there is no answer, and what to do, for one %s", (_name, changes, said) => {
  show({ status: "complete", finish_reason: "stop", ...changes });
  expect(document.querySelector("article")?.textContent.replace(/\s+/g, " ")).toMatch(said);
});

it.each([
  ["written", { status: "in_progress" }],
  ["stopped", { status: "cancelled" }],
  ["edited", { finish_reason: "edited" }],
  ["complete", { content: "low tide" }],
] as const)("does not say so for one that is %s", (_name, changes) => {
  show({ status: "complete", finish_reason: "stop", content: "", ...changes });
  expect(document.querySelector("article")?.textContent).not.toMatch(/without an answer|but no answer/);
});
