import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { chatItems } from "../../../src/components/sidebar/chat_items";
import { ApiError } from "../../../src/services/api/errors";
import { Conversations } from "../../../src/stores/conversations.svelte";
import { Notices } from "../../../src/stores/notices.svelte";
import { conversation, FakeApi } from "../../fake_server";

let api: FakeApi;
let notices: Notices;
let archive: () => void;

/** The menu of a chat while another one is open, or the same. */
function itemsWith(open: string, find = { shown: false }, pinned = false) {
  const conversations = new Conversations(api);
  const tides = conversation({ id: "tides", title: "Tides", pinned });
  const change = (changes: object) => conversations.change("tides", changes).then(() => true, () => false);
  const ebb = { api, chat: { id: open }, conversations, find, notices, session: { may: () => true } };
  return chatItems(tides, ebb as never, { change } as never);
}

beforeEach(() => {
  api = new FakeApi();
  notices = new Notices();
  archive = itemsWith("sea").find(({ label }) => label === "Archive")!.act;
});

afterEach(() => notices.dismiss());

it("shows why the undo of archiving failed", async () => {
  const changed = vi.spyOn(api, "changeConversation").mockResolvedValue(conversation({ id: "tides", archived: true }));
  archive();
  await vi.waitFor(() => expect(notices.current).toContain("Tides"));
  changed.mockRejectedValue(new ApiError(500, { message: "The disk is full" }));
  notices.action!.act();
  await vi.waitFor(() => expect(notices.current).toContain("The chat was not changed. The disk is full."));
});

it("does not say that a chat was archived that was not", async () => {
  vi.spyOn(api, "changeConversation").mockRejectedValue(new ApiError(500, { message: "The disk is full" }));
  notices.show("The chat was not changed.");
  archive();
  await new Promise((resolve) => setTimeout(resolve));
  expect(notices.current).toBe("The chat was not changed.");
});

it("finds a text in the open chat, with the keys for that", () => {
  const named = (items: ReturnType<typeof itemsWith>) => items.find(({ label }) => label === "Find in this chat");
  expect(named(itemsWith("sea"))).toBeUndefined();
  const find = { shown: false };
  const item = named(itemsWith("tides", find))!;
  item.act();
  expect([find.shown, item.keys]).toEqual([true, ["Ctrl", "F"]]);
});

it("says under the pin of a pinned chat whether its cache is kept", async () => {
  const promised = { tokens: 0, declined: 0, bytes: 0, reason: "no_reservation" } as const;
  vi.spyOn(api, "promise").mockResolvedValue(promised);
  const noted = (pinned: boolean) => itemsWith("sea", undefined, pinned).filter(({ note }) => note);
  expect(noted(false)).toEqual([]);
  const [unpin] = noted(true);
  expect([unpin!.label, await unpin!.note!()]).toEqual(["Unpin", "The cache may be dropped: no space is reserved for you."]);
});
