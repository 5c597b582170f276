import { beforeEach, expect, it, vi } from "vitest";

import { offerFormerChats } from "../../src/background/former_chats";
import { Notices } from "../../src/stores/notices.svelte";

let notices: Notices;
const api = { formerChats: vi.fn(), takeFormerChats: vi.fn(), refuseFormerChats: vi.fn() };
const conversations = { load: vi.fn() };

beforeEach(() => {
  sessionStorage.clear();
  notices = new Notices();
  api.formerChats.mockReset().mockResolvedValue(2);
  api.refuseFormerChats.mockReset().mockResolvedValue(undefined);
  api.takeFormerChats.mockReset().mockResolvedValue(2);
  conversations.load.mockReset().mockResolvedValue(undefined);
});

it("offers former chats until the person accepts", async () => {
  vi.useFakeTimers();
  await offerFormerChats({ api, conversations, notices });
  vi.advanceTimersByTime(600_000);
  expect(notices.current).toBe("2 chats from before the first key belong to no key. Take them over?");
  vi.useRealTimers();
  notices.action!.act();
  await vi.waitFor(() => expect(conversations.load).toHaveBeenCalled());
  expect(notices.current).toBe("2 chats are yours now.");
});

it("tells the server of a refusal, and offers nothing if there are no chats", async () => {
  api.formerChats.mockResolvedValueOnce(0);
  await offerFormerChats({ api, conversations, notices });
  expect(notices.current).toBe(null);
  await offerFormerChats({ api, conversations, notices });
  notices.action!.refusal!.act();
  expect([api.refuseFormerChats.mock.calls.length, api.takeFormerChats.mock.calls]).toEqual([1, []]);
});

it("repeats an offer that was closed in the next session of the browser only", async () => {
  await offerFormerChats({ api, conversations, notices });
  notices.dismiss();
  await offerFormerChats({ api, conversations, notices });
  expect(notices.current).toBe(null);
  expect(api.refuseFormerChats).not.toHaveBeenCalled();
  sessionStorage.clear();
  await offerFormerChats({ api, conversations, notices });
  expect(notices.current).toBe("2 chats from before the first key belong to no key. Take them over?");
});
