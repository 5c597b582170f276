import { flushSync } from "svelte";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";

import { ApiError } from "../../src/services/api/errors";
import type { Conversation, ConversationWithMessages, Message, MessagePage } from "../../src/services/api/types";
import { Chat } from "../../src/stores/chat.svelte";
import { HealthStore } from "../../src/stores/health.svelte";
import { Router } from "../../src/stores/router.svelte";
import { conversation, FakeApi, message, Wire } from "../fake_server";

const COUNT = 300;
const PAGE = 40;

/** Server of one long chat, which sends pages of it. */
class PagedApi extends FakeApi {
  path: Message[] = messagesOf(COUNT);
  read: MessagePage[] = [];

  override conversation(_id?: string, page: MessagePage = {}): Promise<ConversationWithMessages> {
    this.read.push(page);
    const { from, to, limit = 500 } = page;
    const at = this.path.findIndex(({ id }) => id === (from || to));
    if ((from || to) && at < 0) return Promise.reject(new ApiError(404, { message: "There is no such message" }));
    const end = to === undefined ? this.path.length : at + 1;
    const messages = from === undefined ? this.path.slice(Math.max(0, end - limit), end) : this.path.slice(Math.max(at, 0)).slice(0, limit);
    return Promise.resolve({ ...this.head(), branches: from === undefined && to === undefined ? false : null, messages });
  }

  override wholeConversation(): ConversationWithMessages {
    return { ...this.head(), messages: this.path };
  }

  private head(): Conversation {
    return conversation({ head_id: this.path.at(-1)?.id ?? null });
  }
}

function messagesOf(count: number, name = "m"): Message[] {
  return Array.from({ length: count }, (_, at) =>
    message({
      id: `${name}${at}`,
      parent_id: at === 0 ? null : `${name}${at - 1}`,
      role: at % 2 === 0 ? "user" : "assistant",
      content: `text ${at}`,
      status: "complete",
    }),
  );
}

let api: PagedApi;
let chat: Chat;
const ids = () => chat.messages.map(({ id }) => id);
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => `m${from + at}`);

beforeEach(async () => {
  api = new PagedApi();
  const health = new HealthStore(api);
  chat = new Chat(api, health, () => undefined);
  await health.poll();
  await chat.open("conv_1");
});

describe("a long chat", () => {
  it("opens with its end alone", () => {
    expect(ids()).toEqual(range(COUNT - PAGE, COUNT));
    expect(api.read).toEqual([{ limit: PAGE }]);
    expect(chat.pages.earlier).toBe(true);
  });

  it("reads earlier messages, and leaves the others in their places", async () => {
    const former = new Map(chat.messages.map(({ id, place }) => [id, place]));
    await chat.pages.readEarlier();
    expect(ids()).toEqual(range(COUNT - 2 * PAGE, COUNT));
    expect(chat.messages.slice(PAGE).every(({ id, place }) => former.get(id) === place)).toBe(true);
    expect(chat.messages.every(({ place }, index) => index === 0 || place === chat.messages[index - 1]!.place + 1)).toBe(true);
    for (let page = 0; page < 10; page++) await chat.pages.readEarlier();
    expect(ids()).toEqual(range(0, COUNT));
    expect(chat.pages.earlier).toBe(false);
  });

  it("opens around a message, with its end after a gap", async () => {
    await chat.pages.reach("m100");
    expect(ids()).toEqual([...range(81, 120), ...range(COUNT - PAGE, COUNT)]);
    expect([chat.pages.gap, chat.pages.around]).toEqual([39, "m100"]);
    const after = chat.messages[39]!.place;
    await chat.pages.readLater();
    expect(ids().slice(0, chat.pages.gap)).toEqual(range(81, 159));
    for (let page = 0; page < 3; page++) await chat.pages.readLater();
    expect(ids()).toEqual(range(81, COUNT));
    expect(chat.pages.gap).toBe(ids().length);
    expect(chat.messages.find(({ id }) => id === `m${COUNT - PAGE}`)!.place).toBe(after);
  });

  it("shows its end again", async () => {
    await chat.pages.reach("m100");
    chat.pages.toEnd();
    expect(ids()).toEqual(range(COUNT - PAGE, COUNT));
    expect([chat.pages.around, chat.pages.earlier]).toEqual([null, true]);
    await chat.pages.readEarlier();
    expect(ids()).toEqual(range(COUNT - 2 * PAGE, COUNT));
  });

  it("has no gap before a message near the loaded ones", async () => {
    await chat.pages.reach(`m${COUNT - PAGE - 10}`);
    expect(ids()).toEqual(range(COUNT - PAGE - 29, COUNT));
    expect(chat.pages.gap).toBe(ids().length);
  });

  it("goes from one message to another", async () => {
    await chat.pages.reach("m100");
    await chat.pages.reach("m110");
    expect(chat.pages.around).toBe("m110");
    expect(api.read).toHaveLength(3);
    await chat.pages.reach("m20");
    expect(ids().slice(0, chat.pages.gap)).toEqual(range(1, 40));
    await chat.pages.reach(`m${COUNT - 1}`);
    expect(ids()).toEqual(range(COUNT - PAGE, COUNT));
    expect(chat.pages.around).toBeNull();
  });

  it("opens at the message in the address", async () => {
    await chat.open("conv_1", "m50");
    expect(api.shown).toEqual(["m50"]);
    expect(chat.pages.around).toBe("m50");
    expect(ids()).toContain("m50");
  });

  it("goes to a message in the address of the open chat without another branch", async () => {
    const router = new Router();
    router.conversationId = "conv_1";
    onTestFinished(chat.followRouter(router));
    onTestFinished(() => history.replaceState(null, "", "/"));
    flushSync();
    router.go("conv_1", "m50");
    flushSync();
    await vi.waitFor(() => expect(chat.pages.around).toBe("m50"));
    expect(api.shown).toEqual([]);
    expect(ids().slice(chat.pages.gap)).toEqual(range(COUNT - PAGE, COUNT));
  });

  it("goes to the same message again when its result is opened again", async () => {
    const router = new Router();
    router.conversationId = "conv_1";
    onTestFinished(chat.followRouter(router));
    onTestFinished(() => history.replaceState(null, "", "/"));
    router.go("conv_1", "m50");
    flushSync();
    await vi.waitFor(() => expect(chat.pages.around).toBe("m50"));
    router.scrollTarget = null;
    flushSync();
    chat.pages.toEnd();
    router.go("conv_1", "m50");
    flushSync();
    await vi.waitFor(() => expect(chat.pages.around).toBe("m50"));
    expect(router.scrollTarget).toBe("m50");
  });

  it("opens at its end if the message in the address is gone", async () => {
    vi.spyOn(api, "showBranch").mockRejectedValue(new ApiError(404, { message: "No such message" }));
    await chat.open("conv_1", "msg_gone");
    expect(ids()).toEqual(range(COUNT - PAGE, COUNT));
    expect(chat.problem).toBeNull();
  });

  it("is refreshed as far as it is loaded, with what other browsers added", async () => {
    await chat.pages.readEarlier();
    api.path = [...api.path, ...messagesOf(COUNT + 2).slice(COUNT)];
    await chat.refresh();
    expect(ids()).toEqual(range(COUNT - 2 * PAGE, COUNT + 2));
    expect(api.read.at(-1)).toEqual({ limit: 2 * PAGE });
  });

  it("keeps what is loaded around a message when it is refreshed", async () => {
    await chat.pages.reach("m100");
    api.path = [...api.path, ...messagesOf(COUNT + 2).slice(COUNT)];
    await chat.refresh();
    expect(ids()).toEqual([...range(81, 120), ...range(COUNT - PAGE, COUNT + 2)]);
    expect([chat.pages.gap, chat.pages.around]).toEqual([39, "m100"]);
  });

  it("is read again where another browser shows another branch", async () => {
    await chat.pages.reach("m100");
    const other = messagesOf(COUNT, "n").slice(60);
    other[0]!.parent_id = "m59";
    api.path = [...api.path.slice(0, 60), ...other];
    await chat.refresh();
    expect(ids()).toEqual(other.slice(-PAGE).map(({ id }) => id));
    expect([chat.pages.around, chat.pages.earlier]).toEqual([null, true]);
  });

  it("shows a sibling far from its end", async () => {
    await chat.pages.reach("m100");
    const other = messagesOf(COUNT, "n").slice(101);
    other[0] = { ...other[0]!, parent_id: "m100", sibling_ids: ["m101", "n101"] };
    api.path = [...api.path.slice(0, 101), ...other];
    await chat.show("n101");
    expect(ids().slice(0, 22)).toEqual([...range(81, 101), "n101", "n102"]);
    expect(chat.messages[20]!.key).toBe("m101");
    expect(chat.pages.around).toBe("m101");
    expect(chat.branched).toBe(true);
  });

  it("edits a question in its middle as its end, and shows the gap again if it is not sent", async () => {
    await chat.pages.reach("m100");
    api.sent = [new Wire().response];
    await chat.edit(chat.messages.find(({ id }) => id === "m100")!, "Other");
    expect(ids().slice(0, -2)).toEqual(range(81, 100));
    expect(api.asked[0]).toMatchObject({ content: "Other", parent_id: "m99" });

    await chat.open("conv_1");
    await chat.pages.reach("m100");
    const before = ids();
    api.sent = [new ApiError(409, { message: "No" })];
    await expect(chat.retry(chat.messages.find(({ id }) => id === "m101")!)).rejects.toThrow();
    expect(ids()).toEqual(before);
    expect(chat.pages.gap).toBe(39);
  });

  it("deletes a turn whose question is not loaded, and shows its surroundings", async () => {
    api.path = messagesOf(COUNT + 1);
    await chat.open("conv_1");
    const answer = chat.messages[0]!;
    expect(answer.id).toBe(`m${COUNT - PAGE + 1}`);
    const copies = messagesOf(COUNT + 1, "c").slice(COUNT - PAGE + 2);
    copies[0]!.parent_id = `m${COUNT - PAGE - 1}`;
    const removed = vi.spyOn(api, "deleteMessage").mockImplementation(() => {
      api.path = [...api.path.slice(0, COUNT - PAGE), ...copies];
      return Promise.resolve(conversation());
    });
    await chat.removeTurn(answer);
    expect(removed).toHaveBeenCalledExactlyOnceWith(`m${COUNT - PAGE}`, true);
    expect(ids()).toContain(copies[0]!.id);
    expect(ids()).toContain(`m${COUNT - PAGE - 1}`);
  });

  it("deletes the first turn, and shows the beginning", async () => {
    await chat.pages.reach("m0");
    vi.spyOn(api, "deleteMessage").mockResolvedValue(conversation());
    const copies = messagesOf(COUNT, "c").slice(2);
    copies[0]!.parent_id = null;
    api.path = copies;
    const restored = vi.spyOn(api, "restoreMessage").mockResolvedValue(conversation());
    const erased = vi.spyOn(api, "eraseMessage").mockResolvedValue(conversation());
    const undo = await chat.removeTurn(chat.messages[0]!);
    expect(ids()[0]).toBe("c2");
    expect([chat.pages.around, chat.pages.earlier]).toEqual(["c2", false]);
    api.path = messagesOf(COUNT);
    await undo();
    expect(restored).toHaveBeenCalledExactlyOnceWith("m0");
    expect(erased).toHaveBeenCalledExactlyOnceWith("c2");
    expect(ids()).toContain("m0");
  });

  it("is loaded whole for printing, and forgotten again", async () => {
    await chat.pages.reach("m100");
    const before = ids();
    const forget = chat.pages.readWhole();
    expect(ids()).toEqual(range(0, COUNT));
    expect(chat.messages.every(({ place }, index) => index === 0 || place > chat.messages[index - 1]!.place)).toBe(true);
    forget();
    expect(ids()).toEqual(before);
    expect([chat.pages.gap, chat.pages.around, chat.pages.earlier]).toEqual([39, "m100", true]);
  });

  it("stays usable when an earlier page cannot be read", async () => {
    vi.spyOn(api, "conversation").mockRejectedValueOnce(new ApiError(500, { message: "Away" }));
    await expect(chat.pages.readEarlier()).rejects.toThrow();
    await chat.pages.readEarlier();
    expect(ids()).toEqual(range(COUNT - 2 * PAGE, COUNT));
  });
});
