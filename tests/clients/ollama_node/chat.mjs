// Chats through Ollama's package for Node: whole, streamed, with tools and with a schema, and its errors.

import { Ollama } from "ollama";

const { EBB_URL, EBB_MODEL, EBB_KEY, EBB_LIMITED_KEY, EBB_WINDOW } = process.env;
const clientOf = (key) => new Ollama({ host: EBB_URL, headers: { Authorization: `Bearer ${key}` } });
const ollama = clientOf(EBB_KEY);
const calm = { model: EBB_MODEL, options: { temperature: 0, num_predict: 24 } };
const question = { role: "user", content: "What is the weather in Paris?" };
const city = { type: "string", enum: ["Paris", "Rome"] };
const parameters = { type: "object", properties: { city }, required: ["city"], additionalProperties: false };
const weather = { type: "function", function: { name: "weather", description: "Get the weather in a city.", parameters } };

function figures(response) {
  return { total: response.prompt_eval_count + response.eval_count, computed: response.kv.computed, reason: response.done_reason };
}

async function twoTurns() {
  const messages = [
    { role: "system", content: "Be brief about rivers." },
    { role: "user", content: "Tell me about rivers." },
  ];
  const first = await ollama.chat({ ...calm, messages });
  messages.push(first.message, { role: "user", content: "And lakes?" });
  let text = "";
  let last;
  for await (const part of await ollama.chat({ ...calm, messages, stream: true })) {
    text += part.message.content;
    last = part;
  }
  const whole = await ollama.chat({ ...calm, messages });
  return { turns: [figures(first), figures(last)], prompt: last.prompt_eval_count, equal: text === whole.message.content };
}

async function tools() {
  const call = { function: { name: "weather", arguments: { city: "Paris" } } };
  const messages = [question, { role: "assistant", content: "", tool_calls: [call] }];
  messages.push({ role: "tool", tool_name: "weather", content: "Sunny." });
  const free = await ollama.chat({ ...calm, messages: [question], tools: [weather] });
  const after = await ollama.chat({ ...calm, messages, tools: [weather] });
  return [free, after].map((response) => response.done_reason);
}

async function errors() {
  const long = { role: "user", content: "river ".repeat(Number(EBB_WINDOW) + 1) };
  const calls = {
    "too long": () => ollama.chat({ ...calm, messages: [long] }),
    limited: () => clientOf(EBB_LIMITED_KEY).chat({ ...calm, messages: [question] }),
    "wrong key": () => clientOf("wrong").chat({ ...calm, messages: [question] }),
    "other model": () => ollama.chat({ ...calm, model: "another", messages: [question] }),
  };
  const found = {};
  for (const [name, call] of Object.entries(calls)) {
    const error = await call().catch((error) => error);
    found[name] = [error.name, error.status_code];
  }
  return found;
}

const formatted = await ollama.chat({ ...calm, messages: [question], format: parameters });
const generated = await ollama.generate({ ...calm, prompt: "Why is the sea salty?" });
const { embeddings } = await ollama.embed({ model: EBB_MODEL, input: ["sea", "river"] });
console.log(
  JSON.stringify({
    chat: await twoTurns(),
    tools: await tools(),
    formatted: JSON.parse(formatted.message.content),
    generated: generated.done_reason,
    lengths: embeddings.map((embedding) => Math.hypot(...embedding)),
    models: (await ollama.list()).models.map((model) => model.name),
    capabilities: (await ollama.show({ model: EBB_MODEL })).capabilities,
    errors: await errors(),
  }),
);
