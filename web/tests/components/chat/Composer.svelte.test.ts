import { flushSync } from "svelte";
import { beforeEach, expect, it, vi } from "vitest";

import Composer from "../../../src/components/chat/Composer.svelte";
import { FakeApi } from "../../fake_server";
import { mountWith } from "../mounting";

beforeEach(() => {
  // jsdom has none of them.
  vi.stubGlobal("CSS", { supports: () => true });
  vi.stubGlobal("matchMedia", () => ({ matches: false }));
  Element.prototype.scrollIntoView = () => undefined;
});

const [onsend, onprompt] = [vi.fn(), vi.fn()];

/** Mount the composer with two saved prompts. */
function open(): HTMLTextAreaElement {
  const api = new FakeApi();
  vi.spyOn(api, "savedPrompts").mockResolvedValue([
    { id: "p1", name: "Translate", text: "Translate this" },
    { id: "p2", name: "Summarize", text: "Translate no word" },
  ]);
  const props = $state({ text: "", files: [], reading: false, ready: true, busy: false, onlibrary: null, onqueue: null, queued: null, warning: null });
  const none = { opened: () => Promise.resolve(), onchoose: vi.fn(), onattach: vi.fn(), ondetach: vi.fn(), onstop: vi.fn(), onprompts: vi.fn() };
  const ontype = (text: string) => (props.text = text);
  mountWith({ api }, Composer, Object.assign(props, none, { ontype, onsend: onsend.mockReset(), onprompt: onprompt.mockReset() }));
  return document.querySelector("textarea")!;
}

/** Type the keys of a text one after the other. */
function type(field: HTMLTextAreaElement, text: string): void {
  for (const key of text) {
    field.value += key;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    flushSync();
  }
}

function press(field: HTMLTextAreaElement, key: string): void {
  field.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  flushSync();
}

const offered = () => [...document.querySelectorAll("[role=option] span:first-child")].map(({ textContent }) => textContent);

it("offers saved prompts by what follows a slash, and sends what matches none", async () => {
  const field = open();
  type(field, "/");
  await vi.waitFor(() => expect(offered()).toEqual(["Translate", "Summarize", "Saved prompts"]));
  type(field, "TR");
  expect(offered()).toEqual(["Translate", "Saved prompts"]);
  expect(field.getAttribute("aria-activedescendant")).toBe("prompts-0");
  press(field, "Enter");
  expect([onprompt.mock.calls, onsend.mock.calls]).toEqual([[["Translate this"]], []]);
});

it("offers them also if more was typed before they came", async () => {
  const field = open();
  type(field, "/sum");
  await vi.waitFor(() => expect(offered()).toEqual(["Summarize", "Saved prompts"]));
  press(field, "Escape");
  expect(offered()).toEqual([]);
  press(field, "Enter");
  expect(onsend).toHaveBeenCalledOnce();
});

it("keeps the slash of a message that matches no prompt", async () => {
  const field = open();
  type(field, "/");
  await vi.waitFor(() => expect(offered()).toHaveLength(3));
  type(field, "etc/hosts");
  expect([offered(), field.value, field.hasAttribute("aria-activedescendant")]).toEqual([[], "/etc/hosts", false]);
  press(field, "Enter");
  expect(onsend).toHaveBeenCalledOnce();
});
