import { flushSync } from "svelte";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { Activity } from "../../src/stores/activity.svelte";
import { conversation, FakeApi } from "../fake_server";

let api: FakeApi;
let activity: Activity;
let visibility: DocumentVisibilityState;
let stop: () => void;
const chat = $state<{ id: string | null }>({ id: null });

beforeEach(() => {
  visibility = "visible";
  vi.spyOn(document, "visibilityState", "get").mockImplementation(() => visibility);
  chat.id = null;
  api = new FakeApi();
  activity = new Activity(api);
  stop = activity.start(chat);
});

afterEach(() => stop());

const tides = conversation({ id: "tides", unread: true });
const harbours = conversation({ id: "harbours", unread: true });

it("takes the marks from the lists of the server", () => {
  activity.list([tides, conversation({ id: "read" })]);
  expect([...activity.unread]).toEqual(["tides"]);
  activity.list([harbours]);
  expect([...activity.unread]).toEqual(["tides", "harbours"]);
  activity.list([conversation({ id: "tides" }), harbours]);
  expect([...activity.unread]).toEqual(["harbours"]);
});

it("reports a chat once that the person opens", () => {
  activity.list([tides, harbours]);
  flushSync(() => (chat.id = "tides"));
  flushSync(() => (chat.id = null));
  flushSync(() => (chat.id = "tides"));
  expect([api.seen, [...activity.unread]]).toEqual([["tides"], ["harbours"]]);
});

it("reports an answer at once that ends in the visible chat", () => {
  flushSync(() => (chat.id = "tides"));
  flushSync(() => activity.note(tides, false));
  expect([api.seen, activity.unread.size]).toEqual([["tides"], 0]);
});

it("keeps the mark of the open chat until the page is visible", () => {
  visibility = "hidden";
  flushSync(() => (chat.id = "tides"));
  flushSync(() => activity.note(tides, false));
  expect([api.seen, [...activity.unread]]).toEqual([[], ["tides"]]);
  visibility = "visible";
  document.dispatchEvent(new Event("visibilitychange"));
  expect([api.seen, activity.unread.size]).toEqual([["tides"], 0]);
});

it("has the mark again with the next list if the server was not reached", async () => {
  vi.spyOn(api, "see").mockRejectedValueOnce(new Error("offline"));
  activity.list([tides]);
  flushSync(() => (chat.id = "tides"));
  await Promise.resolve();
  expect(activity.unread.size).toBe(0);
  flushSync(() => activity.list([tides]));
  expect(api.seen).toEqual(["tides"]);
});
