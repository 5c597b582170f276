import { flushSync } from "svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { Tabs } from "../../src/services/browser/tabs";
import { Chat } from "../../src/stores/chat.svelte";
import { ChatTiers } from "../../src/stores/chat_tiers.svelte";
import { Conversations } from "../../src/stores/conversations.svelte";
import { Drafts } from "../../src/stores/drafts.svelte";
import { HealthStore } from "../../src/stores/health.svelte";
import { Refresh } from "../../src/stores/refresh.svelte";
import { Router } from "../../src/stores/router.svelte";
import { Session } from "../../src/stores/session.svelte";
import { conversation, FakeApi, message, Wire } from "../fake_server";

let api: FakeApi;
let health: HealthStore;
let chat: Chat;
const stops: (() => void)[] = [];

beforeEach(() => {
  api = new FakeApi();
  health = new HealthStore(api);
  chat = new Chat(api, health, () => undefined);
});

afterEach(() => {
  for (const stop of stops.splice(0)) stop();
  history.replaceState(null, "", "/");
});

function follow(stop: () => void) {
  stops.push(stop);
  flushSync();
}

describe("a chat that follows the router", () => {
  it("opens the conversation in the address, and the empty page after it", () => {
    const router = new Router();
    const opened = vi.spyOn(chat, "open");
    follow(chat.followRouter(router));
    expect(opened).not.toHaveBeenCalled();
    router.go("conv_1", "msg_1");
    flushSync();
    router.go(null);
    flushSync();
    expect(opened.mock.calls).toEqual([["conv_1", "msg_1"], [null, null]]);
  });

  it("keeps a conversation that it created itself", async () => {
    const router = new Router();
    api.sent = [new Wire().response];
    await health.poll();
    follow(chat.followRouter(router));
    const opened = vi.spyOn(chat, "open");
    await chat.send("hello");
    router.go("conv_1");
    flushSync();
    expect(opened).not.toHaveBeenCalled();
  });
});

describe("the end of an answer", () => {
  it("is announced once, with its conversation", async () => {
    const ended: string[] = [];
    const wire = new Wire();
    api.sent = [wire.response];
    await health.poll();
    follow(chat.onAnswerEnd((id) => ended.push(id)));
    await chat.send("hello");
    flushSync();
    expect(ended).toEqual([]);
    wire.send(1, "done", { message: message({ status: "complete" }) });
    await vi.waitFor(() => expect(chat.phase).toBe("idle"));
    flushSync();
    expect(ended).toEqual(["conv_1"]);
  });
});

describe("the tiers of the list", () => {
  it("are requested as soon as the model is ready", async () => {
    api.chats = [conversation({ id: "a" })];
    const places = vi.spyOn(api, "places").mockResolvedValue([["a", "cpu"]]);
    const conversations = new Conversations(api);
    const tiers = new ChatTiers(api);
    await conversations.load();
    follow(tiers.followList(conversations, health));
    expect(places).not.toHaveBeenCalled();
    await health.poll();
    flushSync();
    expect(places).toHaveBeenCalledWith(["a"]);
  });
});

describe("a refresh", () => {
  /** Wait until all that a response sets off has run. */
  const settled = () => new Promise((resolve) => setTimeout(resolve));

  it("covers all changes that come during a reading by one more", async () => {
    const session = new Session(api, () => undefined, () => undefined);
    const refresh = new Refresh(health, session, new Conversations(api), chat, new Drafts(api), new Tabs());
    for (let change = 0; change < 100; change++) refresh.rereadChats();
    await settled();
    expect(api.listPages).toHaveLength(2);
  });

  it("happens when the server becomes reachable, and when the person returns", async () => {
    const session = new Session(api, () => undefined, () => undefined);
    const refresh = new Refresh(health, session, new Conversations(api), chat, new Drafts(api), new Tabs());
    follow(refresh.start());
    refresh.waitNoLonger();
    dispatchEvent(new Event("focus"));
    expect(api.listPages).toHaveLength(0);
    await health.poll();
    flushSync();
    expect(api.listPages).toHaveLength(1);
    await settled();
    dispatchEvent(new Event("focus"));
    expect(api.listPages).toHaveLength(2);
    await settled();
    stops.splice(0).forEach((stop) => stop());
    dispatchEvent(new Event("focus"));
    expect(api.listPages).toHaveLength(2);
  });

  it.each(["before", "after"])("reads once at the start, with the stream of changes open %s the server is known", async (order) => {
    const session = new Session(api, () => undefined, () => undefined);
    const [conversations, folders] = [new Conversations(api), vi.spyOn(api, "folders")];
    conversations.onReread = () => void api.folders();
    const refresh = new Refresh(health, session, conversations, chat, new Drafts(api), new Tabs());
    follow(refresh.start());
    if (order === "before") refresh.onFollowed();
    await health.poll();
    flushSync();
    if (order === "after") {
      dispatchEvent(new Event("focus"));
      expect(api.listPages).toHaveLength(0);
      refresh.onFollowed();
      flushSync();
    }
    await settled();
    expect([api.listPages.length, folders.mock.calls.length]).toEqual([1, 1]);
    refresh.onFollowed();
    expect(api.listPages).toHaveLength(2);
  });

  it("waits half a second at most for the stream of changes", async () => {
    vi.useFakeTimers();
    const session = new Session(api, () => undefined, () => undefined);
    const refresh = new Refresh(health, session, new Conversations(api), chat, new Drafts(api), new Tabs());
    follow(refresh.start());
    await health.poll();
    flushSync();
    await vi.advanceTimersByTimeAsync(499);
    expect(api.listPages).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(api.listPages).toHaveLength(1);
  });

  it("rereads the open chat only if its version in the list is another one", async () => {
    const open = { ...conversation(), head_id: null };
    api.stored = { ...open, messages: [] };
    api.chats = [open];
    const read = vi.spyOn(api, "conversation");
    await chat.open(open.id);
    const session = new Session(api, () => undefined, () => undefined);
    const refresh = new Refresh(health, session, new Conversations(api), chat, new Drafts(api), new Tabs());
    refresh.rereadChats();
    await settled();
    expect(api.listPages).toHaveLength(1);
    expect(read).toHaveBeenCalledOnce();
    api.chats = [{ ...open, version: open.version + 1 }];
    refresh.rereadChats();
    await vi.waitFor(() => expect(read).toHaveBeenCalledTimes(2));
  });
});
