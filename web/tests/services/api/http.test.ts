import { describe, expect, it, vi } from "vitest";

import { ApiClient } from "../../../src/services/api/client";

describe("a request", () => {
  it("holds no half of a character, wherever one is in its body", async () => {
    const fetched = vi.fn(() => Promise.resolve(new Response("{}")));
    vi.stubGlobal("fetch", fetched);
    const api = new ApiClient();

    await api.putDraft(null, "cut \ud83d");
    await api.changeConversation("conv_1", { title: "\ude00 \ud83d\ude00", tags: ["\ud83d"] });

    const bodies = (fetched.mock.calls as unknown as [string, RequestInit][]).map(([, { body }]) => JSON.parse(body as string) as unknown);
    expect(bodies).toEqual([{ text: "cut \ufffd" }, { title: "\ufffd \ud83d\ude00", tags: ["\ufffd"] }]);
  });
});
