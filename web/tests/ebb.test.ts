import { flushSync } from "svelte";
import { expect, it, onTestFinished, vi } from "vitest";

import { createEbb } from "../src/ebb";
import { conversation } from "./fake_server";

it.each([{ archived: true }, { temporary: true }])("marks an opened chat as seen that is in no list: %o", async (kind) => {
  const opened = { ...conversation({ id: "tides", unread: true, ...kind }), messages: [] };
  const asked: string[] = [];
  vi.stubGlobal("fetch", (address: RequestInfo | URL, { method }: RequestInit = {}) => {
    const request = address instanceof Request ? address : null;
    asked.push(`${request?.method ?? method ?? "GET"} ${new URL(request?.url ?? String(address), location.href).pathname}`);
    return Promise.resolve(Response.json(opened));
  });
  vi.stubGlobal("matchMedia", () => new EventTarget());
  const { activity, chat } = createEbb();
  onTestFinished(activity.start(chat));

  await chat.open("tides");
  flushSync();
  expect(asked).toEqual(["GET /api/conversations/tides", "POST /api/conversations/tides/seen"]);
  expect(activity.unread.size).toBe(0);
});
