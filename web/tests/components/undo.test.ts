import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import SavedPrompts from "../../src/components/chat/SavedPrompts.svelte";
import SettingsDialog from "../../src/components/dialogs/SettingsDialog.svelte";
import Organization from "../../src/components/sidebar/Organization.svelte";
import { ApiError } from "../../src/services/api/errors";
import { Conversations } from "../../src/stores/conversations.svelte";
import { Notices } from "../../src/stores/notices.svelte";
import { Organizer } from "../../src/stores/organizer.svelte";
import { Presets } from "../../src/stores/presets.svelte";
import { conversation, FakeApi } from "../fake_server";
import { mountWith, press } from "./mounting";

const FULL = new ApiError(500, { message: "The disk is full" });
const nothing = () => undefined;

let api: FakeApi;
let notices: Notices;

beforeEach(() => {
  api = new FakeApi();
  notices = new Notices();
});

afterEach(() => notices.dismiss());

/** Wait for a button of the open dialog, and press it. */
async function pressLater(name: string): Promise<void> {
  await vi.waitFor(() => press(name));
}

describe("the undo of a deletion", () => {
  it("restores a preset in the dialog of its settings", async () => {
    const fields = { name: "Calm", system_prompt: "Be calm.", params: { temperature: 0.2 }, model: null, is_default: true };
    let stored = [{ ...fields, id: "preset_1" }];
    api.presets = () => Promise.resolve(stored);
    api.deletePreset = () => Promise.resolve(void (stored = []));
    const created = vi.spyOn(api, "createPreset").mockImplementation(() => Promise.resolve((stored = [{ ...fields, id: "preset_2" }])[0]!));
    const presets = new Presets(api, { startWith: nothing }, { folder: null, systemPrompt: null });
    await presets.load();
    const settings = { system_prompt: null, params: null };
    mountWith({ notices, presets }, SettingsDialog as never, { settings, model: null, onsave: nothing, onclose: nothing });
    const select = document.querySelector("select")!;
    select.value = "preset_1";
    select.dispatchEvent(new Event("change", { bubbles: true }));
    await pressLater("Delete preset");
    await vi.waitFor(() => expect(document.querySelector("dialog")!.textContent).toContain("“Calm” was deleted."));
    press("Undo");
    await vi.waitFor(() => expect(document.querySelector("select")?.value).toBe("preset_2"));
    expect(created).toHaveBeenCalledExactlyOnceWith(fields);
  });

  it("restores a saved prompt in the dialog of the prompts, or says why not", async () => {
    let stored = [{ id: "prompt_1", name: "Translate", text: "Translate: tide" }];
    api.savedPrompts = () => Promise.resolve(stored);
    api.deletePrompt = () => Promise.resolve(void (stored = []));
    const saved = vi.spyOn(api, "savePrompt").mockImplementation((name, text) => Promise.resolve((stored = [{ id: "prompt_2", name, text }])[0]!));
    mountWith({ api, notices }, SavedPrompts as never, { onchoose: nothing, onclose: nothing });
    await pressLater("Edit “Translate”");
    press("Delete prompt");
    await pressLater("Undo");
    await pressLater("Edit “Translate”");
    expect(saved).toHaveBeenCalledExactlyOnceWith("Translate", "Translate: tide");

    press("Delete prompt");
    saved.mockRejectedValue(FULL);
    await pressLater("Undo");
    await vi.waitFor(() => expect(notices.current).toMatch(/^The disk is full\./));
  });

  it("restores a folder and opens it", async () => {
    const sea = { id: "f", name: "Sea", parent_id: null, system_prompt: "Speak of the sea." };
    api.storedFolders = [sea];
    api.chats = [conversation({ folder_id: "f" })];
    api.deleteFolder = () => Promise.resolve(void (api.storedFolders = []));
    api.createFolder = () => Promise.resolve((api.storedFolders = [{ ...sea, id: "g" }])[0]!);
    const changed = vi.spyOn(api, "changeConversations").mockResolvedValue({ changed: [], missing: [] });
    const conversations = new Conversations(api);
    const organizer = new Organizer(api, conversations);
    conversations.onReread = () => void organizer.load();
    await Promise.all([organizer.load(), conversations.load()]);
    await organizer.show("f");
    mountWith({ api, conversations, notices, organizer }, Organization as never, {});
    press("Delete folder");
    await vi.waitFor(() => expect(notices.current).toContain("The folder “Sea” was deleted."));
    expect(organizer.folderId).toBeNull();
    notices.action!.act();
    await vi.waitFor(() => expect(organizer.folderId).toBe("g"));
    expect(changed.mock.calls[0]![1]).toEqual({ folder_id: "g" });
  });
});

it("has one way each to leave the settings and to save them, also while a preset is named", async () => {
  api.presets = () => Promise.resolve([]);
  const presets = new Presets(api, { startWith: nothing }, { folder: null, systemPrompt: null });
  const settings = { system_prompt: "Be calm.", params: null };
  mountWith({ notices, presets }, SettingsDialog as never, { settings, model: null, onsave: nothing, onclose: nothing });
  const named = (name: string) => [...document.querySelectorAll("button")].filter(({ textContent }) => textContent.trim() === name);
  await pressLater("Save as preset…");
  expect([named("Cancel").length, named("Save").length, named("Save preset").length]).toEqual([1, 1, 1]);
  await vi.waitFor(() => expect(document.activeElement?.matches("input[type=text]")).toBe(true));
  press("Save as preset…");
  expect(named("Save preset")).toEqual([]);
});
