import { describe, expect, it } from "vitest";

import type { ChatModel, Health } from "../../src/services/api/types";
import { Chat } from "../../src/stores/chat.svelte";
import { HealthStore } from "../../src/stores/health.svelte";
import { Models } from "../../src/stores/models.svelte";
import { conversation, FakeApi, message, Wire } from "../fake_server";

const ANT = { name: "ant", max_model_len: 8_192, sampling: { temperature: 0.7 }, thinking: [] };

function described(name: string, changes: Partial<ChatModel> = {}): ChatModel {
  const facts = { max_model_len: 4_096, sampling: {}, thinking: [], tokens: null, computed: null };
  return { name, answers: true, default: false, state: "loaded", progress: null, memory: null, ...facts, ...changes };
}

/** A server with several models, whose loads a test writes. */
class ModelsApi extends FakeApi {
  override modelNames: string[] | null = ["ant", "bee"];
  described: ChatModel[] = [described("ant"), described("bee")];
  loads: Response[] = [];
  loaded: string[] = [];

  override async health(): Promise<Health> {
    return { ...(await super.health()), model: ANT as unknown as Health["model"] };
  }

  override models(): Promise<{ data: ChatModel[] }> {
    return Promise.resolve({ data: this.described });
  }

  override loadModel(name: string): Promise<Response> {
    this.loaded.push(name);
    return Promise.resolve(this.loads.shift() ?? new Wire().send(0, "loaded", described(name)).end().response);
  }
}

async function opened(api: FakeApi): Promise<{ chat: Chat; models: Models }> {
  const health = new HealthStore(api);
  const chat: Chat = new Chat(api, health, () => undefined, {
    get name() {
      return models.name;
    },
    prepare: (...given) => models.prepare(...given),
  });
  const models = new Models(api, health, chat);
  await health.poll();
  return { chat, models };
}

const answer = (id: string, model: string | null) => message({ id, role: "assistant", status: "complete", content: "!", model });

describe("the model of a chat", () => {
  it("is that of its last answer, or a chosen one until the chat is left", async () => {
    const api = new ModelsApi();
    const { chat, models } = await opened(api);
    expect(models.name).toBe("ant");
    api.stored = { ...conversation(), messages: [message(), answer("msg_a", "bee"), answer("msg_b", "gone")] };
    await chat.open("conv_1");
    expect(models.name).toBe("bee");
    models.choose("ant");
    expect(models.name).toBe("ant");
    await chat.open(null);
    expect(models.name).toBe("ant");
    models.choose("bee");
    await chat.open("conv_1");
    models.choose("gone");
    expect(models.name).toBe("bee");
  });

  it("is no one on a server with one model", async () => {
    const api = new FakeApi();
    api.sent = [new Wire().send(1, "done", { message: answer("msg_a", "only") }).end().response];
    const { chat, models } = await opened(api);
    expect([models.names, models.name]).toEqual([[], null]);
    await chat.send("Hi");
    expect(api.asked[0]).not.toHaveProperty("model");
  });

  it("has its own window, sampling and thinking", async () => {
    const { models } = await opened(new ModelsApi());
    expect(models.facts).toMatchObject(ANT);
    models.choose("bee");
    expect(models.facts).toBeNull();
    await models.load(null);
    expect(models.facts).toMatchObject({ name: "bee", max_model_len: 4_096, sampling: {} });
  });
});

describe("a model that gives no answers", () => {
  it("answers in no chat, and stays in the list", async () => {
    const api = new ModelsApi();
    api.described = [described("ant", { answers: false }), described("bee", { answers: null })];
    const { models } = await opened(api);
    await models.load(null);
    expect([models.names, models.answering, models.name]).toEqual([["ant", "bee"], ["bee"], "bee"]);
  });
});

describe("a message for a model that is not in memory", () => {
  it("waits for it, shows the steps of the load, and names it", async () => {
    const api = new ModelsApi();
    const load = new Wire();
    api.loads = [load.response];
    api.sent = [new Wire().send(1, "done", { message: answer("msg_a", "bee") }).end().response];
    const { chat, models } = await opened(api);
    models.choose("bee");
    const sent = chat.send("Hi");
    load.send(0, "loading", described("bee", { state: "loading", progress: "reading the weights" }));
    await expect.poll(() => chat.loading?.progress).toBe("reading the weights");
    expect([chat.phase, api.asked]).toEqual(["waiting", []]);
    load.send(0, "loaded", described("bee")).end();
    expect(await sent).toBe(true);
    expect([chat.loading, api.loaded, api.asked[0]?.model]).toEqual([null, ["bee"], "bee"]);
  });

  it("is not sent if the load fails, and says why", async () => {
    const api = new ModelsApi();
    const error = { message: "The model 'ant' could not be loaded: no room", type: "server_error", param: null, code: "no_memory_for_model" };
    api.loads = [new Wire().send(0, "error", { error }).end().response];
    const { chat } = await opened(api);
    expect(await chat.send("Hi")).toBe(false);
    expect([chat.phase, chat.loading, api.asked]).toEqual(["idle", null, []]);
    expect(chat.messages[0]?.unsent?.what).toBe("The model 'ant' could not be loaded: no room.");
  });

  it("is not sent if the person stops the load", async () => {
    const api = new ModelsApi();
    const load = new Wire();
    api.loads = [load.response];
    const { chat } = await opened(api);
    const sent = chat.send("Hi");
    load.send(0, "loading", described("ant", { state: "loading", progress: "reading the weights" }));
    await expect.poll(() => chat.phase).toBe("waiting");
    await chat.stop();
    expect(await sent).toBe(false);
    expect([chat.phase, api.asked]).toEqual(["idle", []]);
  });
});
