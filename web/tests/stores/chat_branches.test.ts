import { beforeEach, describe, expect, it, vi } from "vitest";

import { ApiError, UnreachableError } from "../../src/services/api/errors";
import type { Conversation } from "../../src/services/api/types";
import { Chat } from "../../src/stores/chat.svelte";
import { HealthStore } from "../../src/stores/health.svelte";
import { conversation, FakeApi, message, Wire } from "../fake_server";

let api: FakeApi;
let health: HealthStore;
let chat: Chat;

const question = message({ id: "msg_q", role: "user", content: "Tides?", status: "complete", run_id: null, parent_id: null });
const answer = message({ id: "msg_a", parent_id: "msg_q", content: "The moon", status: "incomplete", finish_reason: "length" });
const texts = () => chat.messages.map(({ content, status }) => [content, status]);

beforeEach(async () => {
  api = new FakeApi();
  health = new HealthStore(api);
  chat = new Chat(api, health, () => undefined);
  await health.poll();
  api.stored = { ...conversation(), messages: [question, answer] };
  await chat.open("conv_1");
});

describe("branches", () => {
  it("sends an edited question as a sibling", async () => {
    api.sent = [new Wire().response];

    await chat.edit(chat.messages[0]!, "Ebb?");

    const asked = api.asked[0]!;
    expect(asked).toEqual({ id: asked.id, content: "Ebb?", parent_id: null });
    expect(asked.id).toMatch(/^msg_[0-9a-f]{32}$/);
    expect(texts()).toEqual([["Ebb?", "complete"], ["", "in_progress"]]);
    expect(chat.messages[0]!.sibling_ids).toEqual(["msg_q", asked.id]);
    expect(chat.messages[0]!.key).toBe("msg_q");
  });

  it("adds a regenerated answer to the siblings before the server responds", async () => {
    api.sent = [new Wire().response];

    await chat.retry(chat.messages[1]!);

    const [asked, id] = api.retried[0]!;
    expect(asked).toBe("msg_a");
    expect(chat.messages[1]!.sibling_ids).toEqual(["msg_a", id]);
  });

  it("regenerates an answer with settings of its own", async () => {
    api.sent = [new Wire().response];

    await chat.retry(chat.messages[1]!, { params: { temperature: 1.5 } });

    expect(api.retriedWith).toEqual([{ params: { temperature: 1.5 } }]);
  });

  it("shows an edited answer as a version of the original", async () => {
    const edited = message({ ...answer, id: "msg_e", content: "Sun and moon", status: "complete", finish_reason: "edited", sibling_ids: ["msg_a", "msg_e"] });
    const edit = vi.spyOn(api, "editAnswer").mockResolvedValue(conversation());
    api.stored = { ...conversation(), messages: [question, edited] };

    await chat.editAnswer(chat.messages[1]!, "Sun and moon");

    expect(edit.mock.calls[0]).toEqual(["msg_a", expect.stringMatching(/^msg_[0-9a-f]{32}$/), "Sun and moon"]);
    expect(texts()[1]).toEqual(["Sun and moon", "complete"]);
    expect(chat.messages[1]!.key).toBe("msg_a");
  });

  it("regenerates a new answer under the id that the server assigned", async () => {
    const asked = message({ id: "msg_q2", role: "user", content: "Ebb?", parent_id: "msg_a" });
    const given = message({ id: "msg_a2", parent_id: "msg_q2" });
    const done = message({ ...given, content: "Yes", status: "complete" });
    const told = { conversation: conversation(), user_message: asked, message: given };
    api.sent = [new Wire().send(1, "run", told).send(2, "done", { message: done }).response, new Wire().response];

    await chat.send("Ebb?");
    await vi.waitFor(() => expect(texts().at(-1)).toEqual(["Yes", "complete"]));
    await chat.retry(chat.messages.at(-1)!);

    expect(chat.messages.at(-1)!.sibling_ids).toEqual(["msg_a2", api.retried[0]![1]]);
  });

  it("replaces a message by its sibling under the same key", async () => {
    const keys = chat.messages.map(({ key }) => key);
    const other = message({ ...answer, id: "msg_b", content: "The sun", sibling_ids: ["msg_a", "msg_b"] });
    api.stored = { ...conversation(), messages: [question, other] };

    await chat.show("msg_b");

    expect(api.shown).toEqual(["msg_b"]);
    expect(texts()[1]).toEqual(["The sun", "incomplete"]);
    expect(chat.messages.map(({ key }) => key)).toEqual(keys);
  });

  it("opens the branch in the address, or the last one if it is gone", async () => {
    await chat.open("conv_1", "msg_a");
    vi.spyOn(api, "showBranch").mockRejectedValue(new ApiError(404, { message: "No such message" }));
    await chat.open("conv_1", "msg_gone");

    expect(api.shown).toEqual(["msg_a"]);
    expect(texts()).toHaveLength(2);
  });
});

describe("an incomplete answer", () => {
  it("continues in the same message", async () => {
    const wire = new Wire();
    api.sent = [wire.response];

    await chat.continue(chat.messages[1]!);
    wire.send(0, "run", { run_id: "run_2", conversation: conversation(), user_message: question, message: { ...answer, content: "", status: "in_progress" } });
    wire.send(1, "delta", { text: "The moon" }).send(2, "delta", { text: " pulls." });
    wire.send(3, "done", { message: { ...answer, content: "The moon pulls.", status: "complete" } });

    await vi.waitFor(() => expect(texts()[1]).toEqual(["The moon pulls.", "complete"]));
    expect(api.continued).toEqual(["msg_a"]);
  });

  it("stays unchanged if the server refuses to continue", async () => {
    api.sent = [new ApiError(409, { message: "The model is another one now" })];

    await expect(chat.continue(chat.messages[1]!)).rejects.toThrow("another one");

    expect(texts()[1]).toEqual(["The moon", "incomplete"]);
    expect(chat.phase).toBe("idle");
  });
});

describe("a message whose connection broke", () => {
  it("is resent under its id", async () => {
    api.sent = [new UnreachableError(), new Wire().response];

    await chat.send("And at night?");
    expect(chat.messages.at(-1)!.unsent).toBeDefined();
    await chat.sendAgain(chat.messages.at(-1)!);

    expect(api.asked[1]).toEqual(api.asked[0]);
    expect(chat.phase).toBe("answering");
  });

  it("is resent automatically after the server was away", async () => {
    api.sent = [new UnreachableError(), new Wire().response];
    api.status = "starting";
    const sent = chat.send("And at night?");
    await vi.waitFor(() => expect(chat.phase).toBe("waiting"));

    api.status = "ok";
    await health.poll();
    await sent;

    expect(api.asked.map(({ id }) => id)).toEqual([api.asked[0]!.id, api.asked[0]!.id]);
    expect(chat.messages.at(-2)!.unsent).toBeUndefined();
  });
});

describe("ratings", () => {
  it("keeps a rating that is given while the messages are being reread", async () => {
    const read = Promise.withResolvers<void>();
    const before = api.stored;
    vi.spyOn(api, "conversation").mockImplementationOnce(async () => {
      await read.promise;
      return before;
    });
    const rated = Promise.withResolvers<Conversation>();
    vi.spyOn(api, "rateAnswer").mockReturnValue(rated.promise);

    const refreshed = chat.refresh();
    const rating = chat.rate(chat.messages[1]!, "good");
    read.resolve();
    api.stored = { ...before, messages: [question, { ...answer, rating: "good" }] };
    rated.resolve(conversation());
    await Promise.all([refreshed, rating]);

    expect(chat.messages[1]!.rating).toBe("good");
  });

  it("rereads its messages after a rating has arrived", async () => {
    const rated = Promise.withResolvers<Conversation>();
    vi.spyOn(api, "rateAnswer").mockReturnValue(rated.promise);
    const read = vi.spyOn(api, "conversation");

    const rating = chat.rate(chat.messages[1]!, "good");
    const refreshed = chat.refresh();
    expect(read).not.toHaveBeenCalled();
    rated.resolve(conversation());
    await Promise.all([refreshed, rating]);

    expect(read).toHaveBeenCalledOnce();
  });

  it("are sent in their order, and the later one stays if the earlier one fails", async () => {
    const first = Promise.withResolvers<Conversation>();
    const sent = vi.spyOn(api, "rateAnswer").mockReturnValueOnce(first.promise).mockResolvedValueOnce(conversation());

    const good = chat.rate(chat.messages[1]!, "good");
    const bad = chat.rate(chat.messages[1]!, "bad");
    await vi.waitFor(() => expect(sent).toHaveBeenCalledOnce());
    first.reject(new UnreachableError());

    await expect(good).rejects.toThrow();
    await bad;
    expect(sent.mock.calls.map(([, rating]) => rating)).toEqual(["good", "bad"]);
    expect(chat.messages[1]!.rating).toBe("bad");
  });
});

describe("the shown messages", () => {
  const listed = { ...conversation(), head_id: "msg_a" };

  it("are not reread while the list has their version", async () => {
    const read = vi.spyOn(api, "conversation");

    await chat.refresh(listed);
    expect(read).not.toHaveBeenCalled();
    await chat.refresh({ ...listed, head_id: "msg_b" });
    await chat.refresh({ ...listed, version: listed.version + 1 });
    await chat.refresh();

    expect(read).toHaveBeenCalledTimes(3);
  });

  it("are reread if one of them was being written", async () => {
    api.stored = { ...conversation(), messages: [question, message({ ...answer, status: "in_progress" }), message({ id: "msg_n", role: "user", status: "complete" })] };
    await chat.open("conv_1");
    const read = vi.spyOn(api, "conversation");

    await chat.refresh({ ...listed, head_id: "msg_n" });

    expect(read).toHaveBeenCalledOnce();
  });

  it("are reread after an empty chat could not be reread", async () => {
    const empty = { ...conversation(), head_id: null };
    api.stored = { ...empty, messages: [] };
    await chat.open("conv_1");
    vi.spyOn(api, "conversation").mockRejectedValueOnce(new UnreachableError());
    await chat.refresh();
    expect(chat.ready).toBe(false);

    await chat.refresh(empty);

    expect(chat.ready).toBe(true);
  });

  it("are reread after a run whose connection was lost", async () => {
    api.stored = { ...conversation(), messages: [question, message({ ...answer, status: "in_progress", run_id: "run_1" })] };
    api.followed = [new ApiError(401, { message: "Log in first.", code: "missing_api_key" })];
    await chat.open("conv_1");
    await vi.waitFor(() => expect(texts()[1]).toEqual(["The moon", "failed"]));
    api.stored = { ...conversation(), messages: [question, answer] };

    await chat.refresh(listed);

    expect(texts()[1]).toEqual(["The moon", "incomplete"]);
  });
});
