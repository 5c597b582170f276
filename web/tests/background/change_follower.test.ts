import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { ChangeFollower } from "../../src/background/change_follower";
import { Activity } from "../../src/stores/activity.svelte";
import { Conversations } from "../../src/stores/conversations.svelte";
import { conversation, FakeApi, Wire } from "../fake_server";

let api: FakeApi;
let wire: Wire;
let activity: Activity;
let conversations: Conversations;
let refreshed: string[];
let ended: string[];
let stop: () => void;
const chat = { id: "open", messages: [{ id: "m1" }], refresh: () => Promise.resolve(void refreshed.push("chat")) };

beforeEach(() => {
  [refreshed, ended] = [[], []];
  wire = new Wire();
  vi.spyOn(document, "visibilityState", "get").mockReturnValue("visible");
  api = new FakeApi();
  api.followed = [wire.response];
  activity = new Activity(api);
  conversations = new Conversations(api);
  const refresh = { rereadChats: () => void refreshed.push("list") };
  const follower = new ChangeFollower({ api, activity, chat, conversations, refresh } as never, (id) => ended.push(id));
  const stops = [follower.start(), activity.start(chat)];
  stop = () => stops.forEach((each) => each());
});

afterEach(() => stop());

function send(event: string, data: object): void {
  wire.bytes(new TextEncoder().encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`));
}

it("lists chats of other browsers, and marks answers that ended unseen", async () => {
  send("opened", { answering: ["far"] });
  await vi.waitFor(() => expect([...activity.answering]).toEqual(["far"]));
  expect(refreshed).toEqual(["list"]);
  send("conversation", { conversation: conversation({ id: "far", title: "Far", unread: true }), answering: false, answered: true });
  await vi.waitFor(() => expect(ended).toEqual(["far"]));
  expect([conversations.known.map(({ title }) => title), [...activity.unread], activity.answering.size]).toEqual([["Far"], ["far"], 0]);
  send("gone", { conversation_id: "far" });
  await vi.waitFor(() => expect(conversations.known).toEqual([]));
  expect(activity.unread.size).toBe(0);
});

it("rereads the open chat only if it differs from the one shown", async () => {
  conversations.put(conversation({ id: "open", version: 1, head_id: "m1" }));
  send("conversation", { conversation: conversation({ id: "open", version: 1, head_id: "m1" }), answering: false, answered: false });
  send("conversation", { conversation: conversation({ id: "open", version: 1, head_id: "m2" }), answering: true, answered: false });
  await vi.waitFor(() => expect(activity.answering.has("open")).toBe(true));
  expect(refreshed).toEqual(["chat"]);
  send("reload", {});
  await vi.waitFor(() => expect(refreshed).toEqual(["chat", "list"]));
});

it("leaves an answer read that ended before the eyes of the person", async () => {
  send("conversation", { conversation: conversation({ id: "open", head_id: "m1" }), answering: true, answered: false });
  send("conversation", { conversation: conversation({ id: "open", head_id: "m1", unread: true }), answering: false, answered: true });
  await vi.waitFor(() => expect(api.seen).toEqual(["open"]));
  expect([ended, activity.unread.size]).toEqual([["open"], 0]);
});

it("removes the mark of an answer that was seen in another browser", async () => {
  send("conversation", { conversation: conversation({ id: "quick", unread: true }), answering: false, answered: true });
  await vi.waitFor(() => expect([...activity.unread]).toEqual(["quick"]));
  send("conversation", { conversation: conversation({ id: "quick" }), answering: false, answered: false });
  await vi.waitFor(() => expect(activity.unread.size).toBe(0));
  expect(api.seen).toEqual([]);
});

it("rereads the list and finds the answers that ended while the stream was broken", async () => {
  send("opened", { answering: ["slow", "slower"] });
  send("opened", { answering: ["slower"] });
  await vi.waitFor(() => expect([...activity.answering]).toEqual(["slower"]));
  expect(refreshed).toEqual(["list", "list"]);
  expect(ended).toEqual(["slow"]);
});

it("ignores an event that is older than a change of this page", async () => {
  conversations.put(conversation({ id: "filed", title: "New", version: 3 }));
  send("conversation", { conversation: conversation({ id: "filed", title: "Old", version: 2 }), answering: true, answered: false });
  await vi.waitFor(() => expect(activity.answering.has("filed")).toBe(true));
  expect(conversations.known.map(({ title }) => title)).toEqual(["New"]);
});
