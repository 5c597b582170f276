import { beforeEach, expect, it, vi } from "vitest";

import { Conversations } from "../../src/stores/conversations.svelte";
import { conversation, FakeApi } from "../fake_server";

const LENGTH = 5_000;

let api: FakeApi;
let conversations: Conversations;
const chat = (number: number, changes = {}) => conversation({ id: `c${number}`, title: `Chat ${number}`, updated_at: number, ...changes });
/** Numbers of the chats at some places. */
const at = (from: number, to: number) => conversations.all.slice(from, to).map((row) => row && row.updated_at);

beforeEach(async () => {
  api = new FakeApi();
  api.chats = Array.from({ length: LENGTH }, (_, number) => chat(number));
  conversations = new Conversations(api);
  await conversations.load();
});

it("reads the rows near the seen ones, each page once", async () => {
  expect([conversations.total, conversations.known.length, api.listPages]).toEqual([LENGTH, 100, [[0, 100]]]);
  await conversations.see(90, 130);
  await Promise.all([conversations.see(4_990, 5_010), conversations.see(4_980, 5_000)]);
  await conversations.see(0, 200);
  expect(api.listPages).toEqual([[0, 100], [100, 100], [4_900, 100]]);
  expect(at(99, 102)).toEqual([4_900, 4_899, 4_898]);
  expect(at(4_998, 5_000)).toEqual([1, 0]);
});

it("keeps a bounded number of rows, those near the seen ones", async () => {
  for (let from = 0; from < LENGTH; from += 100) await conversations.see(from, from + 100);
  expect(conversations.known.length).toBeLessThanOrEqual(1_000);
  expect(at(4_999, 5_000)).toEqual([0]);
  expect(at(0, 1)).toEqual([undefined]);
});

it("rereads what is seen, and not what was seen before", async () => {
  await conversations.see(2_950, 3_050);
  api.listPages = [];
  await conversations.load();
  expect(api.listPages).toEqual([[2_900, 200]]);
  expect([conversations.total, conversations.known.length]).toEqual([LENGTH, 200]);
});

it("rereads everything seen when a page shows that the list has changed", async () => {
  api.chats = [...api.chats, chat(LENGTH)];
  await conversations.see(100, 150);
  expect([conversations.total, at(99, 101)]).toEqual([LENGTH + 1, [undefined, 4_900]]);
  api.chats = api.chats.map((each) => (each.id === "c10" ? chat(10, { updated_at: 9_999 }) : each));
  await conversations.see(0, 300);
  expect(at(0, 2)).toEqual([9_999, 5_000]);
});

it("moves a chat of another place to the top with one request at most", async () => {
  vi.useFakeTimers();
  api.listPages = [];
  api.chats = api.chats.map((each) => (each.id === "c10" ? chat(10, { updated_at: 9_999, version: 2 }) : each));
  conversations.put(chat(10, { updated_at: 9_999, version: 2 }));
  conversations.put(chat(10, { updated_at: 9_999, version: 2, unread: true }));
  expect(at(0, 2)).toEqual([9_999, 4_999]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect([api.listPages, conversations.total, conversations.known.length]).toEqual([[[0, 100]], LENGTH, 100]);
});

it("needs no request for a change of a row that stays, moves to the top, or goes", async () => {
  vi.useFakeTimers();
  api.listPages = [];
  conversations.put(chat(4_990, { title: "Renamed" }));
  conversations.put(chat(4_980, { updated_at: 9_999 }));
  conversations.drop("c4999");
  expect([conversations.total, at(0, 2), conversations.find("c4990")?.title]).toEqual([LENGTH - 1, [9_999, 4_998], "Renamed"]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(api.listPages).toEqual([]);
});

it("leaves a gap for a chat that moves to where nothing was read", async () => {
  await conversations.see(2_000, 2_100);
  api.chats = api.chats.map((each) => (each.id === "c4990" ? chat(4_990, { pinned: false, updated_at: 4_500 }) : each));
  conversations.put(chat(4_990, { updated_at: 4_500 }));
  expect([conversations.total, at(2_000, 2_002)]).toEqual([LENGTH, [2_999, 2_998]]);
});

it("knows chats that are not in the list: the open one, and those that changed", async () => {
  conversations.put(chat(3, { folder_id: "f", title_source: "first_message" }));
  expect([conversations.listed("c3"), conversations.find("c3")?.folder_id]).toEqual([undefined, "f"]);
  api.stored = { ...chat(3, { title: "Tides", title_source: "model" }), messages: [] };
  await conversations.awaitTitle("c3", [0, 0]);
  expect(conversations.find("c3")?.title).toBe("Tides");
  conversations.drop("c3");
  expect(conversations.find("c3")).toBeUndefined();
});

it("has the recent chats of all folders, whatever list is shown", async () => {
  api.chats = [chat(1, { folder_id: "f" }), chat(2, { pinned: true }), chat(3, { archived: true }), chat(4)];
  await conversations.load();
  await conversations.showArchive(true);
  const recent = (open: string | null) => conversations.recent(open)?.map(({ id }) => id);
  expect(recent(null)).toEqual(["c4", "c2", "c1"]);
  conversations.put(chat(5, { folder_id: "f" }));
  conversations.put(chat(4, { archived: true, version: 2 }));
  conversations.drop("c2");
  expect(recent("c1")).toEqual(["c5"]);
});

it("shows the list that was chosen last, whatever arrives last", async () => {
  api.chats = [chat(1), chat(2, { archived: true })];
  let answer!: () => void;
  const original = api.conversations.bind(api);
  const slow = new Promise<void>((resolve) => (answer = resolve));
  vi.spyOn(api, "conversations").mockImplementationOnce(async (...given) => (await slow, original(...given)));
  const [first, second] = [conversations.showArchive(true), conversations.showArchive(false)];
  await second;
  answer();
  await first;
  expect(conversations.known.map(({ id }) => id)).toEqual(["c1"]);
});
