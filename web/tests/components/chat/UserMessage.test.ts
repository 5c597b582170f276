import { flushSync } from "svelte";
import { SvelteMap } from "svelte/reactivity";
import { beforeEach, expect, it, onTestFinished, vi } from "vitest";

import UserMessage from "../../../src/components/chat/UserMessage.svelte";
import { Notices } from "../../../src/stores/notices.svelte";
import { message } from "../../fake_server";
import { mountWith, press } from "../mounting";

const FILE = '<file name="tides.txt">\nHigh at six.\n</file>';

beforeEach(() => void vi.stubGlobal("matchMedia", () => ({ matches: false })));

/** Open the editor of a question with a file. Return its field, and the handler of edited questions. */
async function edit() {
  const onedit = vi.fn();
  const asked = { ...message({ role: "user", content: `When?\n\n${FILE}` }), key: "msg_1", sibling_ids: ["msg_1"], unsent: null };
  const ebb = { chat: { edits: new SvelteMap() }, api: { countTokens: () => Promise.resolve(4) }, notices: new Notices(), session: { may: () => false } };
  mountWith(ebb as never, UserMessage as never, { message: asked, busy: false, last: false, menu: "menu", onedit });
  press("Edit question");
  await vi.waitFor(() => expect(document.querySelector("textarea")).not.toBeNull());
  flushSync();
  return { field: document.querySelector("textarea")!, onedit };
}

it("shows the files of an edited question, apart from its text", async () => {
  const { field } = await edit();
  expect(field.value).toBe("When?");
  const files = [...document.querySelectorAll("ul[aria-label='Files of this message'] .name")].map(({ textContent }) => textContent);
  expect(files).toEqual(["tides.txt"]);
});

it("sends an edited question and its files on Enter, and not on Shift+Enter", async () => {
  const { field, onedit } = await edit();
  field.value = "When is it low?";
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", shiftKey: true, bubbles: true }));
  expect(onedit).not.toHaveBeenCalled();
  field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
  expect(onedit.mock.calls.map(([, content]) => content as string)).toEqual([`When is it low?\n\n${FILE}`]);
});

it("sends an edited question with Ctrl and Enter where Enter adds a line", async () => {
  localStorage.setItem("ebb-enter", "line");
  onTestFinished(() => localStorage.clear());
  const { field, onedit } = await edit();
  field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
  expect(onedit).not.toHaveBeenCalled();
  expect(document.querySelector<HTMLElement>("[type=submit]")!.title).toBe("Ctrl+Enter");
  field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true, cancelable: true }));
  expect(onedit).toHaveBeenCalledOnce();
});

it("shows the actions of a question as icons with tooltips", () => {
  const nothing = () => undefined;
  const asked = { ...message({ role: "user", content: "When?" }), key: "msg_1", sibling_ids: ["msg_1"], unsent: null };
  const handlers = { onresend: nothing, onreclaim: nothing, onedit: nothing, onanswer: nothing, onmore: nothing };
  mountWith({ chat: { edits: new SvelteMap() }, notices: new Notices() } as never, UserMessage as never, { message: asked, busy: false, last: false, menu: "menu", ...handlers });
  const buttons = [...document.querySelectorAll("button")].map((each) => [each.textContent.trim(), each.title, each.ariaLabel]);
  expect(buttons).toEqual(["Edit question", "Copy question", "More actions for this question"].map((name) => ["", name, name]));
});
