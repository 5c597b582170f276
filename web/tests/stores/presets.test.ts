import { flushSync } from "svelte";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { Chat } from "../../src/stores/chat.svelte";
import { HealthStore } from "../../src/stores/health.svelte";
import { Conversations } from "../../src/stores/conversations.svelte";
import { Organizer } from "../../src/stores/organizer.svelte";
import { Presets } from "../../src/stores/presets.svelte";
import { conversation, FakeApi, Wire } from "../fake_server";

const calm = { id: "preset_1", name: "Calm", system_prompt: "Be calm.", params: { temperature: 0.2 }, model: null, is_default: true };

let chat: Chat;
let presets: Presets;
let organizer: Organizer;
let api: FakeApi;
let stop: () => void;

beforeEach(async () => {
  api = new FakeApi();
  api.presets = () => Promise.resolve([calm]);
  const health = new HealthStore(api);
  await health.poll();
  chat = new Chat(api, health, () => undefined);
  organizer = new Organizer(api, new Conversations(api));
  presets = new Presets(api, chat, organizer);
  stop = presets.start();
});

afterEach(() => stop());

async function load() {
  await presets.load();
  flushSync();
}

it("gives the empty page and later new chats the default preset", async () => {
  await load();
  expect(chat.settings).toEqual({ system_prompt: "Be calm.", params: { temperature: 0.2 } });

  await chat.saveSettings({ system_prompt: null, params: null });
  await chat.open(null);
  expect(chat.settings?.system_prompt).toBe("Be calm.");
});

it("leaves changed settings and existing chats as they are", async () => {
  const changed = { system_prompt: "Mine.", params: null };
  await chat.saveSettings(changed);
  await load();
  expect(chat.settings).toEqual(changed);

  api.stored = { ...conversation(), messages: [] };
  await chat.open("conv_1");
  await load();
  expect(chat.settings).toEqual({ system_prompt: null, params: {} });
});

it("begins chats in the open folder, with its system prompt in place of the preset's", async () => {
  await load();
  api.storedFolders = [{ id: "f", name: "Sea", parent_id: null, system_prompt: "Speak of the sea." }];
  await organizer.load();
  organizer.show("f");
  flushSync();
  expect(chat.settings).toEqual({ system_prompt: "Speak of the sea.", params: { temperature: 0.2 } });

  const created = vi.spyOn(api, "createConversation");
  await chat.saveSettings({ system_prompt: null, params: null });
  api.sent = [new Wire().response];
  await chat.send("Waves");
  expect(created).toHaveBeenCalledWith(expect.objectContaining({ folder_id: "f", system_prompt: null }));

  organizer.show(null);
  flushSync();
  await chat.open(null);
  expect(chat.settings?.system_prompt).toBe("Be calm.");
});
