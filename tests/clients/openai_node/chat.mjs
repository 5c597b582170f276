// Chats through OpenAI's package for Node: whole, streamed, with tools and with a schema, and its errors.

import OpenAI, { APIError } from "openai";
import { zodFunction, zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";

const { EBB_URL, EBB_MODEL, EBB_KEY, EBB_LIMITED_KEY, EBB_WINDOW } = process.env;
const client = new OpenAI({ baseURL: `${EBB_URL}/v1`, apiKey: EBB_KEY, maxRetries: 0 });
const calm = { model: EBB_MODEL, temperature: 0, max_completion_tokens: 24 };
const Forecast = z.object({ city: z.enum(["Paris", "Rome"]), degrees: z.literal([10, 20]) });
const question = { role: "user", content: "What is the weather in Paris?" };

function figures({ usage }) {
  return { total: usage.total_tokens, cached: usage.prompt_tokens_details.cached_tokens };
}

async function twoTurns() {
  const messages = [
    { role: "developer", content: "Be brief about rivers." },
    { role: "user", content: "Tell me about rivers." },
  ];
  const first = await client.chat.completions.create({ ...calm, messages });
  messages.push(first.choices[0].message, { role: "user", content: "And lakes?" });
  const stream = client.chat.completions.stream({ ...calm, messages, stream_options: { include_usage: true } });
  let text = "";
  for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? "";
  const second = await stream.finalChatCompletion();
  return { turns: [figures(first), figures(second)], equal: text === second.choices[0].message.content };
}

// Forces one call. The package makes it, sends its result back, and asks again.
async function runTools() {
  const called = [];
  const weather = zodFunction({
    name: "weather",
    description: "Get the weather in a city.",
    parameters: z.object({ city: z.enum(["Paris", "Rome"]) }),
    function: ({ city }) => {
      called.push(city);
      return `Sunny in ${city}.`;
    },
  });
  const runner = client.chat.completions.runTools(
    {
      ...calm,
      max_completion_tokens: 60,
      messages: [question],
      tools: [weather],
      tool_choice: { type: "function", function: { name: "weather" } },
    },
    { maxChatCompletions: 2 },
  );
  const roles = [];
  runner.on("message", (message) => roles.push(message.role));
  await runner.done();
  return { called, roles };
}

async function parsed() {
  const format = { response_format: zodResponseFormat(Forecast, "forecast") };
  const answer = await client.chat.completions.parse({ ...calm, ...format, messages: [question] });
  return answer.choices[0].message.parsed;
}

async function errors() {
  const create = (fields, key = EBB_KEY) =>
    client.withOptions({ apiKey: key }).chat.completions.create({ ...calm, messages: [question], ...fields });
  const calls = {
    "too long": () => create({ messages: [{ role: "user", content: "river ".repeat(Number(EBB_WINDOW) + 1) }] }),
    limited: () => create({}, EBB_LIMITED_KEY),
    "wrong key": () => create({}, "wrong"),
    "other model": () => create({ model: "another" }),
  };
  const found = {};
  for (const [name, call] of Object.entries(calls)) {
    const error = await call().catch((error) => error);
    found[name] = error instanceof APIError ? [error.constructor.name, error.code] : String(error);
  }
  return found;
}

async function responses() {
  const fields = { model: EBB_MODEL, temperature: 0, max_output_tokens: 24 };
  const first = await client.responses.create({ ...fields, input: "Tell me about lakes." });
  const usage = ({ usage }) => ({ total: usage.total_tokens, cached: usage.input_tokens_details.cached_tokens });
  const second = await client.responses.create({ ...fields, input: "And seas?", previous_response_id: first.id });
  const history = [{ role: "user", content: "Tell me about lakes." }, ...first.output, { role: "user", content: "Why?" }];
  const stream = client.responses.stream({ ...fields, input: history });
  let text = "";
  stream.on("response.output_text.delta", (event) => (text += event.delta));
  const third = await stream.finalResponse();
  const parsed = await client.responses.parse({
    ...fields,
    input: [question],
    text: { format: zodTextFormat(Forecast, "forecast") },
  });
  return {
    turns: [usage(first), usage(second), usage(third)],
    equal: text === third.output_text,
    parsed: parsed.output_parsed,
  };
}

const models = [];
for await (const model of client.models.list()) models.push(model.id);
const whole = await client.completions.create({ model: EBB_MODEL, prompt: "The sea is", max_tokens: 4, temperature: 0 });
const { data } = await client.embeddings.create({ model: EBB_MODEL, input: ["sea", "river"] });
console.log(
  JSON.stringify({
    chat: await twoTurns(),
    tools: await runTools(),
    parsed: await parsed(),
    responses: await responses(),
    errors: await errors(),
    models,
    completion: whole.choices[0].finish_reason,
    lengths: data.map(({ embedding }) => Math.hypot(...embedding)),
  }),
);
