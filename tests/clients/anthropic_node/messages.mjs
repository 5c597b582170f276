// Messages through Anthropic's package for Node: whole, streamed, with its tool runner and with a schema, and its errors.

import Anthropic, { APIError } from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { z } from "zod";

const { EBB_URL, EBB_MODEL, EBB_KEY, EBB_LIMITED_KEY, EBB_WINDOW } = process.env;
const client = new Anthropic({ baseURL: EBB_URL, apiKey: EBB_KEY, maxRetries: 0 });
const brief = { model: EBB_MODEL, max_tokens: 24 };
const question = { role: "user", content: "What is the weather in Paris?" };

function figures({ usage }) {
  return {
    total: usage.input_tokens + usage.cache_read_input_tokens + usage.output_tokens,
    cached: usage.cache_read_input_tokens,
  };
}

async function twoTurns() {
  const system = [{ type: "text", text: "Be brief about rivers.", cache_control: { type: "ephemeral" } }];
  const messages = [{ role: "user", content: "Tell me about rivers." }];
  const first = await client.messages.create({ ...brief, system, messages });
  messages.push({ role: first.role, content: first.content }, { role: "user", content: "And lakes?" });
  const stream = client.messages.stream({ ...brief, system, messages });
  let text = "";
  stream.on("text", (delta) => (text += delta));
  const second = await stream.finalMessage();
  return { turns: [figures(first), figures(second)], equal: text === second.content[0].text };
}

// The runner makes the calls, sends their results back, and asks again until the model answers or the iterations end.
async function runTools(stream) {
  const called = [];
  const weather = betaZodTool({
    name: "weather",
    description: "Get the weather in a city.",
    inputSchema: z.object({ city: z.enum(["Paris", "Rome"]) }),
    run: ({ city }) => {
      called.push(city);
      return `Sunny in ${city}.`;
    },
  });
  const runner = client.beta.messages.toolRunner({
    ...brief,
    max_tokens: 60,
    messages: [question],
    tools: [weather],
    tool_choice: { type: "tool", name: "weather" },
    max_iterations: 2,
    stream,
  });
  const messages = [];
  for await (const each of runner) {
    const message = stream ? await each.finalMessage() : each;
    messages.push({ reason: message.stop_reason, ...figures(message) });
  }
  return { called, messages };
}

async function errors() {
  const create = (fields, key = EBB_KEY) =>
    client.withOptions({ apiKey: key }).messages.create({ ...brief, messages: [question], ...fields });
  const calls = {
    "too long": () => create({ messages: [{ role: "user", content: "river ".repeat(Number(EBB_WINDOW) + 1) }] }),
    limited: () => create({}, EBB_LIMITED_KEY),
    "wrong key": () => create({}, "wrong"),
    "other model": () => create({ model: "another" }),
  };
  const found = {};
  for (const [name, call] of Object.entries(calls)) {
    const error = await call().catch((error) => error);
    found[name] = error instanceof APIError ? [error.constructor.name, error.type] : String(error);
  }
  return found;
}

const counted = await client.messages.countTokens({ model: EBB_MODEL, messages: [question] });
const models = [];
for await (const model of client.models.list()) models.push(model.id);
console.log(
  JSON.stringify({
    chat: await twoTurns(),
    tools: await runTools(false),
    "streamed tools": await runTools(true),
    errors: await errors(),
    counted: counted.input_tokens,
    models,
  }),
);
