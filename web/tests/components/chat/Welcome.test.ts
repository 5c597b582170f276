import { mount, unmount } from "svelte";
import { expect, it } from "vitest";

import Welcome from "../../../src/components/chat/Welcome.svelte";
import type { Conversation, Health } from "../../../src/services/api/types";
import { Conversations } from "../../../src/stores/conversations.svelte";
import { conversation, FakeApi } from "../../fake_server";

const HEALTH: Health = {
  status: "ok",
  version: "0",
  models: null,
  model: {
    name: "smollm2",
    dtype: "bfloat16",
    device: "cpu",
    device_note: null,
    max_model_len: 8192,
    sampling: {},
    thinking: [],
  },
  starting: null,
  reason: null,
  reason_code: null,
  tiers: null,
  workers: null,
  replicas: null,
  unindexed: null,
  suggested_model: null,
};

it("names a better model that suits the machine, with the command", () => {
  expect(textOf({ ...HEALTH, suggested_model: "qwen3-1.7b" })).toContain(
    "smollm2 runs on this machine's CPU. A better model for this machine: ebb pull qwen3-1.7b",
  );
  expect(textOf(HEALTH)).not.toContain("ebb pull");
});

it("shows recent chats in place of example prompts", async () => {
  const chats = new Conversations(new FakeApi());
  const prompt = "Give me a packing list for a weekend of sailing";
  expect(textOf(HEALTH, chats.recent(null))).not.toContain(prompt);
  await chats.load();
  expect(textOf(HEALTH, chats.recent(null))).toContain(prompt);
  for (let at = 0; at < 6; at++) chats.put(conversation({ id: `c${at}`, title: `Chat ${at}.`, updated_at: at }));
  const text = textOf({ ...HEALTH, suggested_model: "qwen3-1.7b" }, chats.recent("c4"));
  expect(text.match(/Chat \d\./g)).toEqual(["Chat 5.", "Chat 3.", "Chat 2.", "Chat 1."]);
  expect(text).not.toContain(prompt);
  expect(text).not.toContain("ebb pull");
});

function textOf(health: Health, recent: readonly Conversation[] | null = []): string {
  const props = { health, recent, named: false, onpick: () => undefined, onopen: () => undefined };
  const page = mount(Welcome, { target: document.body, props });
  const text = document.body.textContent.replaceAll(/\s+/g, " ");
  void unmount(page);
  return text;
}
