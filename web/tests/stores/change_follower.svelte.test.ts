import { flushSync } from "svelte";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { ApiError } from "../../src/services/api/errors";
import { Activity } from "../../src/stores/activity.svelte";
import { ChangeFollower } from "../../src/stores/change_follower.svelte";
import { Conversations } from "../../src/stores/conversations.svelte";
import { Session } from "../../src/stores/session.svelte";
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
  const note = (what: string) => () => void refreshed.push(what);
  const refresh = { rereadChats: note("list"), onFollowed: note("followed"), waitNoLonger: note("unfollowed") };
  const follower = new ChangeFollower({ api, activity, chat, conversations, refresh } as never);
  follower.onAnswer = (id) => ended.push(id);
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
  expect(refreshed).toEqual(["followed"]);
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
  expect(refreshed).toEqual(["followed", "chat"]);
  send("reload", {});
  await vi.waitFor(() => expect(refreshed).toEqual(["followed", "chat", "list"]));
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
  const again = new Wire();
  api.followed.push(again.response);
  send("opened", { answering: ["slow", "slower"] });
  wire.end();
  wire = again;
  send("opened", { answering: ["slower"] });
  await vi.waitFor(() => expect([...activity.answering]).toEqual(["slower"]));
  expect(refreshed).toEqual(["followed", "followed"]);
  expect(ended).toEqual(["slow"]);
});

it("ignores an event that is older than a change of this page", async () => {
  conversations.put(conversation({ id: "filed", title: "New", version: 3 }));
  send("conversation", { conversation: conversation({ id: "filed", title: "Old", version: 2 }), answering: true, answered: false });
  await vi.waitFor(() => expect(activity.answering.has("filed")).toBe(true));
  expect(conversations.known.map(({ title }) => title)).toEqual(["New"]);
});

it("has the list wait no longer for a stream that another tab follows, and follows once that tab is gone", async () => {
  stop();
  refreshed = [];
  let leave = () => undefined as void;
  const left = new Promise<void>((resolve) => (leave = resolve));
  const request = vi.fn(async (_name: string, { ifAvailable }: LockOptions, act: (lock: object | null) => Promise<unknown>) => {
    if (ifAvailable) return act(null);
    await left;
    return act({});
  });
  vi.stubGlobal("navigator", { locks: { request } });
  api.followed = [new Wire().response];
  const followed = vi.spyOn(api, "changes");
  const refresh = { waitNoLonger: () => void refreshed.push("unfollowed") };
  stop = new ChangeFollower({ api, activity, chat, conversations, refresh } as never).start();
  await vi.waitFor(() => expect(request).toHaveBeenCalledTimes(2));
  expect([refreshed, followed.mock.calls.length]).toEqual([["unfollowed"], 0]);
  leave();
  await vi.waitFor(() => expect(followed).toHaveBeenCalledOnce());
});

it("rereads the list of a tab when the tab that follows has followed again", async () => {
  stop();
  const [opened, heard] = [new BroadcastChannel("ebb-changes"), vi.fn()];
  const request = async (_name: string, { ifAvailable }: LockOptions, act: (lock: null) => Promise<unknown>) =>
    ifAvailable ? act(null) : new Promise(() => undefined);
  vi.stubGlobal("isSecureContext", true);
  vi.stubGlobal("navigator", { locks: { request } });
  const refresh = { waitNoLonger: () => undefined, onFollowed: heard };
  stop = new ChangeFollower({ api, activity, chat, conversations, refresh } as never).start();
  opened.postMessage({ event: "opened", data: { answering: ["far"] } });
  await vi.waitFor(() => expect([...activity.answering]).toEqual(["far"]));
  expect(heard).toHaveBeenCalledOnce();
  opened.close();
});

it("follows while the person is not logged out", () => {
  stop();
  const session = new Session(api, () => undefined, () => undefined);
  const signals: AbortSignal[] = [];
  api.changes = (signal?: AbortSignal) => new Promise<Response>(() => signals.push(signal!));
  stop = new ChangeFollower({ api, activity, chat, conversations } as never).followSession(session);
  flushSync();
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  session.onLost();
  flushSync();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});

it("has the list wait no longer for a stream that the server refuses", async () => {
  stop();
  refreshed = [];
  api.followed = [new ApiError(429, { message: "Too many pages follow" })];
  const refresh = { waitNoLonger: () => void refreshed.push("unfollowed") };
  stop = new ChangeFollower({ api, activity, chat, conversations, refresh } as never).start();
  await vi.waitFor(() => expect(refreshed).toEqual(["unfollowed"]));
});
