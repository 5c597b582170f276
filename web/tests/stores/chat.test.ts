import { beforeEach, describe, expect, it, vi } from "vitest";

import { ApiError } from "../../src/services/api/errors";
import { Chat } from "../../src/stores/chat.svelte";
import { HealthStore } from "../../src/stores/health.svelte";
import { conversation, FakeApi, message, Wire } from "../fake_server";

let api: FakeApi;
let health: HealthStore;
let chat: Chat;
const told: string[] = [];

beforeEach(async () => {
  told.length = 0;
  api = new FakeApi();
  health = new HealthStore(api);
  chat = new Chat(api, health, ({ id }, how) => void (how === "created" && told.push(id)));
  await health.poll();
});

const user = message({ id: "msg_1", role: "user", content: "hello", status: "complete", run_id: null, parent_id: null });
const started = { run_id: "run_1", conversation: conversation(), user_message: user, message: message() };
const texts = () => chat.messages.map(({ role, content, status }) => [role, content, status]);

describe("the open conversation", () => {
  it("is created by the first message and streams the answer", async () => {
    const wire = new Wire();
    api.sent = [wire.response];

    await chat.send("hello");
    expect(told).toEqual(["conv_1"]);
    expect(texts()).toEqual([["user", "hello", "complete"], ["assistant", "", "in_progress"]]);
    const keys = chat.messages.map(({ key }) => key);

    wire.send(0, "run", started).send(1, "delta", { text: "Good " }).send(2, "delta", { text: "day" });
    await vi.waitFor(() => expect(chat.messages[1]?.content).toBe("Good day"));
    expect(chat.busy).toBe(true);

    wire.send(3, "done", { message: message({ content: "Good day.", status: "complete" }) });
    await vi.waitFor(() => expect(chat.busy).toBe(false));
    expect(texts()[1]).toEqual(["assistant", "Good day.", "complete"]);
    expect(chat.messages.map(({ id }) => id)).toEqual(["msg_1", "msg_2"]);
    expect(chat.messages.map(({ key }) => key)).toEqual(keys);
  });

  it("is titled without cutting a character in two", async () => {
    const created = vi.spyOn(api, "createConversation");
    api.sent = [new Wire().response];
    await chat.send(`${"a".repeat(499)}😀 and more`);
    expect(created.mock.calls.map(([{ first_message }]) => first_message)).toEqual(["a".repeat(499)]);
  });

  it("sends a question to its own conversation after another one was opened", async () => {
    const before = Promise.withResolvers<void>();
    const sent = vi.spyOn(api, "sendMessage");
    api.sent = [new Wire().response];
    const arrived = chat.send("for the first one", { before: before.promise });
    await Promise.resolve();
    await chat.open("conv_2");
    before.resolve();

    expect(await arrived).toBe(true);
    expect(sent.mock.calls.map(([id, { content }]) => [id, content])).toEqual([["conv_1", "for the first one"]]);
    expect([chat.id, texts(), told]).toEqual(["conv_2", [], []]);
  });

  it("separates reasoning from the answer", async () => {
    const wire = new Wire();
    api.sent = [wire.response];

    await chat.send("hello");
    wire.send(0, "run", started).send(1, "delta", { text: "", reasoning: "Let me " });
    wire.send(2, "delta", { text: "Good", reasoning: "see." }).send(3, "delta", { text: " day" });
    await vi.waitFor(() => expect(chat.messages[1]?.content).toBe("Good day"));
    expect(chat.messages[1]?.reasoning).toBe("Let me see.");
  });

  it("has the progress of the prompt until there is text", async () => {
    const progress = (done: number) =>
      new TextEncoder().encode(`event: progress\ndata: ${JSON.stringify({ run_id: "run_1", sequence_number: 1, total: 80, done })}\n\n`);
    const wire = new Wire();
    api.sent = [wire.response];

    await chat.send("hello");
    wire.send(1, "run", started).bytes(progress(20)).bytes(progress(40));
    await vi.waitFor(() => expect(chat.messages[1]?.progress?.done).toBe(40));
    expect(chat.messages[1]?.content).toBe("");
    wire.send(2, "delta", { text: "Good" });
    await vi.waitFor(() => expect(chat.messages[1]?.content).toBe("Good"));
    expect(chat.messages[1]?.progress).toBeNull();

    wire.bytes(progress(60)).send(3, "done", { message: message({ content: "Good", status: "cancelled" }) });
    await vi.waitFor(() => expect(chat.busy).toBe(false));
    expect(chat.messages[1]?.progress).toBeNull();
  });

  it("joins a running answer when opened", async () => {
    api.stored = { ...conversation(), messages: [user, message({ content: "Go" })] };
    const wire = new Wire().send(4, "snapshot", { run_id: "run_1", message: message({ content: "Good" }) });
    api.followed = [wire.response];

    void chat.open("conv_1");
    await vi.waitFor(() => expect(chat.messages[1]?.content).toBe("Good"));
    wire.send(5, "delta", { text: " day" }).send(6, "done", { message: message({ content: "Good day", status: "complete" }) });

    await vi.waitFor(() => expect(chat.phase).toBe("idle"));
    expect(texts()[1]).toEqual(["assistant", "Good day", "complete"]);
  });

  it("sends nothing before its messages are loaded", async () => {
    api.stored = { ...conversation(), messages: [user] };

    const opening = chat.open("conv_1");
    expect(await chat.send("too soon")).toBe(false);
    await opening;

    expect(texts()).toEqual([["user", "hello", "complete"]]);
  });

  it("has no settings before the server has sent them", async () => {
    api.stored = { ...conversation({ params: { max_tokens: 7 } }), messages: [user] };

    expect(chat.hasSettings).toBe(true);
    const opening = chat.open("conv_1");
    expect(chat.hasSettings).toBe(false);
    await opening;

    expect(chat.hasSettings).toBe(true);
    expect(chat.settings).toEqual({ system_prompt: null, params: { max_tokens: 7 } });
  });

  it("has no settings while it is being created", async () => {
    api.sent = [new Wire().response];

    const sending = chat.send("hello");
    expect(chat.hasSettings).toBe(false);
    await sending;

    expect(chat.hasSettings).toBe(true);
  });

  it("reads the stored end after the run's events are gone", async () => {
    api.sent = [new Wire().send(0, "run", started).break().response];
    api.followed = [new ApiError(404, { message: "No such run" })];
    api.stored = { ...conversation(), messages: [user, message({ content: "Good day", status: "complete" })] };

    await chat.send("hello");

    await vi.waitFor(() => expect(texts()[1]).toEqual(["assistant", "Good day", "complete"]));
  });

  it("keeps an unsent message with the reason, and resends it", async () => {
    api.sent = [new ApiError(400, { message: "Too long" }), new Wire().response];

    await chat.send("hello");
    expect(texts()).toEqual([["user", "hello", "complete"]]);
    expect(chat.messages[0]?.unsent?.what).toBe("Too long.");
    expect(chat.busy).toBe(false);

    await chat.sendAgain(chat.messages[0]!);
    expect(chat.messages).toHaveLength(2);
    expect(chat.messages[0]?.unsent).toBeUndefined();
  });

  it("sends when the model is ready, even after a refusal", async () => {
    api.sent = [new ApiError(503, { message: "The model is being loaded" }), new Wire().response];
    api.status = "starting";

    const sent = chat.send("hello");
    await vi.waitFor(() => expect(chat.phase).toBe("waiting"));
    api.status = "ok";
    await health.poll();
    await sent;

    expect(chat.phase).toBe("answering");
  });

  it("is created once, however often its question is sent", async () => {
    const doubt = new ApiError(503, { message: "The change may be stored or not", code: "commit_unknown" });
    const created = vi.spyOn(api, "createConversation").mockRejectedValueOnce(doubt).mockRejectedValueOnce(doubt);
    api.sent = [new Wire().response, new Wire().response];

    await chat.send("hello");
    await chat.sendAgain(chat.messages[0]!);
    await chat.sendAgain(chat.messages[0]!);
    await chat.open(null);
    await chat.send("hello");

    const [first, second, third, other] = created.mock.calls.map(([{ id }]) => id);
    expect(first).toMatch(/^conv_[0-9a-f]{32}$/);
    expect([second, third]).toEqual([first, first]);
    expect(other).not.toBe(first);
  });

  it("is titled by whole characters, wherever the limit is", async () => {
    const created = vi.spyOn(api, "createConversation");
    api.sent = [new Wire().response];
    await chat.send(`${"a".repeat(499)}😀 and more`);
    expect(created.mock.calls[0]![0].first_message).toBe("a".repeat(499));
  });

  it("gets another id when its settings change before it is created", async () => {
    const doubt = new ApiError(503, { message: "The change may be stored or not", code: "commit_unknown" });
    const created = vi.spyOn(api, "createConversation").mockRejectedValueOnce(doubt);
    api.sent = [new Wire().response];

    await chat.send("hello");
    await chat.saveSettings({ system_prompt: "Be brief.", params: null });
    await chat.sendAgain(chat.messages[0]!);

    expect(new Set(created.mock.calls.map(([{ id }]) => id)).size).toBe(2);
  });

  it("stays kept when a reading that began before arrives later", async () => {
    const messages = [user, message({ status: "complete" })];
    const before = { ...conversation({ temporary: true }), messages };
    api.stored = before;
    await chat.open("conv_1");
    const read = Promise.withResolvers<void>();
    vi.spyOn(api, "conversation").mockImplementationOnce(async () => {
      await read.promise;
      return before;
    });
    vi.spyOn(api, "changeConversation").mockResolvedValue(conversation());

    const refreshed = chat.refresh();
    await chat.keep();
    api.stored = { ...conversation(), messages };
    read.resolve();
    await refreshed;

    expect(chat.temporary).toBe(false);
  });

  it("stops a run whose id was unknown when Stop was pressed", async () => {
    const wire = new Wire();
    let answer!: (response: Response) => void;
    vi.spyOn(api, "sendMessage").mockReturnValue(new Promise((resolve) => (answer = resolve)));

    const sent = chat.send("hello");
    await vi.waitFor(() => expect(chat.phase).toBe("sending"));
    await chat.stop();
    expect(api.cancelled).toEqual([]);
    answer(wire.response);
    await sent;

    await vi.waitFor(() => expect(api.cancelled).toEqual(["run_1"]));
  });

  it("ignores events of the previous conversation", async () => {
    const wire = new Wire().send(0, "run", started);
    api.sent = [wire.response];
    await chat.send("hello");

    await chat.open(null);
    wire.send(1, "delta", { text: "late" });
    await new Promise((resolve) => setTimeout(resolve));

    expect(chat.messages).toEqual([]);
    expect(chat.phase).toBe("idle");
  });
});
