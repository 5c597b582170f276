import { expect, it, vi } from "vitest";

import { request } from "../../../src/services/api/http";

it("sends half a character, as a program may have cut it, as a replacement that the server can read", async () => {
  const fetched = vi.fn((_address: string, _init: RequestInit) => Promise.resolve(new Response("{}")));
  vi.stubGlobal("fetch", fetched);
  await request("post", "/api/conversations", { body: { parts: ["a \ud83d", "\ude00 b", "whole 😀"] } });
  expect(fetched.mock.calls[0]![1].body).toBe(JSON.stringify({ parts: ["a \ufffd", "\ufffd b", "whole 😀"] }));
});
