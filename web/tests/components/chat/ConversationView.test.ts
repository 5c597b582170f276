import DOMPurify from "dompurify";
import { expect, it, vi } from "vitest";

import ConversationView from "../../../src/components/chat/ConversationView.svelte";
import { createEbb } from "../../../src/ebb";
import { Chat } from "../../../src/stores/chat.svelte";
import { HealthStore } from "../../../src/stores/health.svelte";
import { conversation, FakeApi, message } from "../../fake_server";
import { mountWith } from "../mounting";

it("warms up the renderer before it draws a message", async () => {
  class Observer {
    observe(): void {}
    unobserve(): void {}
    disconnect(): void {}
  }
  vi.stubGlobal("IntersectionObserver", Observer);
  vi.stubGlobal("ResizeObserver", Observer);
  vi.stubGlobal("matchMedia", () => new EventTarget());
  const api = new FakeApi();
  api.stored = { ...conversation(), messages: [message({ status: "complete", content: "Low **tide**" })] };
  const chat = new Chat(api, new HealthStore(api), () => undefined);
  await chat.open("conv_1");
  const drawn: number[] = [];
  const { sanitize } = DOMPurify;
  vi.spyOn(DOMPurify, "sanitize").mockImplementation((...given: Parameters<typeof sanitize>) => {
    drawn.push(document.querySelectorAll("article").length);
    return sanitize(...given);
  });

  mountWith({ ...createEbb(), api, chat }, ConversationView as never, {});
  expect(drawn).toEqual([]);
  await vi.waitFor(() => expect(document.querySelector("article strong")?.textContent).toBe("tide"));
  expect(drawn[0]).toBe(0);
  expect(drawn).toHaveLength(2);
});
