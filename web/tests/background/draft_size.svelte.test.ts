import { flushSync } from "svelte";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { DraftSize } from "../../src/background/draft_size.svelte";
import { ContextUse } from "../../src/stores/context_use.svelte";
import type { PromptSize } from "../../src/services/api/types";
import { FakeApi, message } from "../fake_server";

const NO_FILES: { name: string; text: string }[] = [];
let api: FakeApi;
let stop: () => void;

beforeEach(() => {
  vi.useFakeTimers();
  api = new FakeApi();
});
afterEach(() => stop());

function open() {
  const usage = { total_tokens: 100 } as NonNullable<ReturnType<typeof message>["usage"]>;
  const chat = $state({ id: "conv_1", busy: false, ready: true, messages: [{ ...message({ usage }), key: "1", place: 0, sibling_ids: [] }], settings: null });
  const drafts = $state({ text: "", files: NO_FILES });
  const models = { name: null, facts: { max_model_len: 1_000 } } as ConstructorParameters<typeof ContextUse>[1] & { name: null };
  const use = new ContextUse(chat, models);
  stop = new DraftSize(api, chat, drafts, use, models).start();
  flushSync();
  return { chat, drafts, use };
}

it("counts the draft with its files once the person pauses", async () => {
  const counted = vi.spyOn(api, "promptSize").mockResolvedValue({ tokens: 1_200, window: 1_000, left_out: 4 });
  const { drafts, use } = open();
  expect(use.current).toEqual({ used: 100, window: 1_000 });
  for (const text of ["Wh", "When", "When?"]) {
    drafts.text = text;
    flushSync();
    await vi.advanceTimersByTimeAsync(300);
  }
  drafts.files = [{ name: "notes.txt", text: "low tide" }];
  flushSync();
  await vi.advanceTimersByTimeAsync(500);
  expect(counted.mock.calls.map(([id, content]) => [id, content])).toEqual([
    ["conv_1", 'When?\n\n<file name="notes.txt">\nlow tide\n</file>'],
  ]);
  expect([use.current, use.over, use.leavable]).toEqual([{ used: 1_200, window: 1_000 }, true, 4]);

  drafts.text = "";
  drafts.files = [];
  flushSync();
  expect([use.current, use.over, use.leavable]).toEqual([{ used: 100, window: 1_000 }, false, null]);
});

it("drops a count that arrives in another chat, and none while an answer is written", async () => {
  const counting = Promise.withResolvers<PromptSize>();
  const counted = vi.spyOn(api, "promptSize").mockReturnValue(counting.promise);
  const { chat, drafts, use } = open();
  drafts.text = "When?";
  flushSync();
  await vi.advanceTimersByTimeAsync(600);
  Object.assign(chat, { id: "conv_2", busy: true });
  flushSync();
  counting.resolve({ tokens: null, window: 1_000, left_out: null });
  await vi.advanceTimersByTimeAsync(1_000);
  expect([use.over, counted.mock.calls.length]).toEqual([false, 1]);
});
