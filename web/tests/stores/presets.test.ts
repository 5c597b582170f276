import { beforeEach, expect, it } from "vitest";

import { Chat } from "../../src/stores/chat.svelte";
import { HealthStore } from "../../src/stores/health.svelte";
import { Presets } from "../../src/stores/presets.svelte";
import { conversation, FakeApi } from "../fake_server";

const calm = { id: "preset_1", name: "Calm", system_prompt: "Be calm.", params: { temperature: 0.2 }, model: null, is_default: true };

let chat: Chat;
let presets: Presets;
let api: FakeApi;

beforeEach(() => {
  api = new FakeApi();
  api.presets = () => Promise.resolve([calm]);
  chat = new Chat(api, new HealthStore(api), () => undefined);
  presets = new Presets(api, chat);
});

it("gives the empty page and later new chats the default preset", async () => {
  await presets.load();
  expect(chat.settings).toEqual({ system_prompt: "Be calm.", params: { temperature: 0.2 } });

  await chat.saveSettings({ system_prompt: null, params: null });
  await chat.open(null);
  expect(chat.settings?.system_prompt).toBe("Be calm.");
});

it("leaves changed settings and existing chats as they are", async () => {
  const changed = { system_prompt: "Mine.", params: null };
  await chat.saveSettings(changed);
  await presets.load();
  expect(chat.settings).toEqual(changed);

  api.stored = { ...conversation(), messages: [] };
  await chat.open("conv_1");
  await presets.load();
  expect(chat.settings).toEqual({ system_prompt: null, params: {} });
});
