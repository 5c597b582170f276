import { flushSync } from "svelte";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import Dialogs from "../../../src/components/dialogs/Dialogs.svelte";
import { ApiError } from "../../../src/services/api/errors";
import { Chat } from "../../../src/stores/chat.svelte";
import { Conversations } from "../../../src/stores/conversations.svelte";
import { HealthStore } from "../../../src/stores/health.svelte";
import { Layout } from "../../../src/stores/layout.svelte";
import { Notices } from "../../../src/stores/notices.svelte";
import { Organizer } from "../../../src/stores/organizer.svelte";
import { Presets } from "../../../src/stores/presets.svelte";
import { conversation, FakeApi } from "../../fake_server";
import { mountWith } from "../mounting";

const calm = { id: "preset_1", name: "Calm", system_prompt: "Be calm.", params: { temperature: 0.2 }, model: null, is_default: false };

let api: FakeApi;
let chat: Chat;
let layout: Layout;
let notices: Notices;

beforeEach(async () => {
  api = new FakeApi();
  api.presets = () => Promise.resolve([calm]);
  const health = new HealthStore(api);
  await health.poll();
  chat = new Chat(api, health, () => undefined);
  const conversations = new Conversations(api);
  const presets = new Presets(api, chat, new Organizer(api, conversations));
  await presets.load();
  vi.stubGlobal("matchMedia", () => new EventTarget());
  layout = new Layout(chat);
  notices = new Notices();
  const session = { may: () => true, name: "Ada", isUser: false, isAdmin: false };
  const nothing = () => undefined;
  mountWith({ api, chat, conversations, health, layout, notices, presets, session } as never, Dialogs as never, {
    onopen: nothing,
    onsidebar: nothing,
    onsearch: nothing,
    onbranch: nothing,
    onstart: nothing,
    chatItems: () => Promise.resolve(["Rename", "Share…", "Export as JSON", "Archive"].map((label) => ({ label, icon: null as never, act: nothing }))),
  });
});

afterEach(() => notices.dismiss());

/** Choose the command of a preset in the palette. */
function choose(name: string): void {
  layout.dialog = "palette";
  flushSync();
  const option = [...document.querySelectorAll<HTMLElement>("[role=option]")].find(({ textContent }) => textContent.trim() === `Preset: ${name}`);
  option!.click();
  flushSync();
}

it("gives a new chat the preset that was chosen in the palette, and takes it back", async () => {
  choose("Calm");
  await vi.waitFor(() => expect(notices.current).toBe("Preset: Calm"));
  expect(chat.settings).toEqual({ system_prompt: "Be calm.", params: { temperature: 0.2 } });
  notices.action!.act();
  await vi.waitFor(() => expect(chat.settings).toEqual({ system_prompt: null, params: null }));
});

it("stores the chosen preset in an existing chat", async () => {
  api.stored = { ...conversation(), messages: [] };
  await chat.open("conv_1");
  notices.enter("conv_1");
  const changed = vi.spyOn(api, "changeConversation").mockResolvedValue(conversation());
  choose("Calm");
  await vi.waitFor(() => expect(notices.current).toBe("Preset: Calm"));
  expect(changed).toHaveBeenCalledExactlyOnceWith("conv_1", { system_prompt: "Be calm.", params: { temperature: 0.2 } });
});

it.each(["settings", "language", "dark", "notifications", "prompts", "share", "rename", "export", "archive", "log out", "enter"])(
  "has a command in the palette for %s",
  async (words) => {
    layout.dialog = "palette";
    flushSync();
    await vi.waitFor(() => expect(document.querySelector("[role=listbox]")!.textContent).toContain("Rename"));
    const field = document.querySelector<HTMLInputElement>("[role=combobox]")!;
    field.value = words;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    flushSync();
    expect(document.querySelector("[role=option]")?.textContent.toLowerCase()).toContain(words === "enter" ? "send" : words);
  },
);

it("says why the chosen preset was not stored", async () => {
  await chat.open("conv_1");
  notices.enter("conv_1");
  vi.spyOn(api, "changeConversation").mockRejectedValue(new ApiError(500, { message: "The disk is full" }));
  choose("Calm");
  await vi.waitFor(() => expect(notices.current).toContain("The chat was not changed. The disk is full."));
  expect(chat.settings).toEqual({ system_prompt: null, params: {} });
});
