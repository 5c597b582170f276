// Vercel's AI SDK with each of its providers for such a server: texts, streams, tools, objects and errors.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, Output, embed, generateText, isStepCount, streamText, tool } from "ai";
import { z } from "zod";

const { EBB_URL, EBB_MODEL, EBB_KEY, EBB_LIMITED_KEY, EBB_WINDOW } = process.env;
const Forecast = z.object({ city: z.enum(["Paris", "Rome"]), degrees: z.literal([10, 20]) });
const brief = { temperature: 0, maxOutputTokens: 24, maxRetries: 0 };
const question = "What is the weather in Paris?";

// The bodies that went to OpenAI's API.
const sent = [];

function recordingFetch(url, init) {
  sent.push(init.body);
  return fetch(url, init);
}

function modelsOf(apiKey, name = EBB_MODEL) {
  const openai = createOpenAI({ baseURL: `${EBB_URL}/v1`, apiKey, fetch: recordingFetch });
  const compatible = createOpenAICompatible({
    name: "ebb",
    baseURL: `${EBB_URL}/v1`,
    apiKey,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
  return {
    "@ai-sdk/openai": openai(name),
    "@ai-sdk/openai chat": openai.chat(name),
    "@ai-sdk/openai-compatible": compatible(name),
    "@ai-sdk/anthropic": createAnthropic({ baseURL: `${EBB_URL}/v1`, apiKey })(name),
  };
}

function figures({ inputTokens, outputTokens, inputTokenDetails }) {
  return { input: inputTokens, total: inputTokens + outputTokens, cached: inputTokenDetails.cacheReadTokens };
}

// Three turns: the answers are sent back as the SDK returned them, the second one is streamed.
async function conversation(model, provider) {
  sent.length = 0;
  const messages = [{ role: "user", content: "Tell me about rivers, please." }];
  const fields = { ...brief, model, instructions: `Be brief, ${provider}.`, messages };
  const first = await generateText(fields);
  messages.push(...first.responseMessages, { role: "user", content: "And lakes?" });
  const second = streamText(fields);
  let text = "";
  for await (const delta of second.textStream) text += delta;
  messages.push(...(await second.responseMessages), { role: "user", content: "And seas?" });
  const third = await generateText(fields);
  return {
    usage: [first.usage, await second.usage, third.usage].map(figures),
    equal: text === (await second.text),
    refers: sent.some((body) => body.includes("item_reference")),
    reasons: [first.finishReason, await second.finishReason, third.finishReason],
  };
}

// The first step must call, the second must not. Then comes a turn with the calls in its history.
async function tools(model, provider, stream) {
  const called = [];
  const weather = tool({
    description: "Get the weather in a city.",
    inputSchema: z.object({ city: z.enum(["Paris", "Rome"]) }),
    execute: async ({ city }) => {
      called.push(city);
      return { city, sky: "sunny" };
    },
  });
  const messages = [{ role: "user", content: question }];
  const fields = {
    ...brief,
    maxOutputTokens: 60,
    model,
    instructions: `Use the tool, ${provider} ${stream}.`,
    messages,
    tools: { weather },
    stopWhen: isStepCount(2),
    prepareStep: ({ stepNumber }) => ({ toolChoice: stepNumber === 0 ? "required" : "auto" }),
  };
  const result = stream ? streamText(fields) : await generateText(fields);
  if (stream) await result.consumeStream();
  const steps = await result.steps;
  messages.push(...(await result.responseMessages), { role: "user", content: "Thanks!" });
  const after = await generateText({ ...fields, stopWhen: isStepCount(1), prepareStep: undefined });
  return {
    called: called.length,
    reasons: steps.map((step) => step.finishReason),
    usage: [...steps.map((step) => figures(step.usage)), figures(after.usage)],
  };
}

async function objects(model) {
  const fields = { ...brief, maxOutputTokens: 60, model, prompt: question, output: Output.object({ schema: Forecast }) };
  const whole = (await generateText(fields)).output;
  const result = streamText(fields);
  const parts = [];
  for await (const part of result.partialOutputStream) parts.push(part);
  return [Forecast.parse(whole), Forecast.parse(await result.output), Forecast.parse(parts.at(-1))];
}

async function errors(provider) {
  const model = modelsOf(EBB_KEY)[provider];
  const calls = {
    "too long": () => generateText({ ...brief, model, prompt: "river ".repeat(Number(EBB_WINDOW) + 1) }),
    limited: () => generateText({ ...brief, model: modelsOf(EBB_LIMITED_KEY)[provider], prompt: question }),
    "wrong key": () => generateText({ ...brief, model: modelsOf("wrong")[provider], prompt: question }),
    "other model": () => generateText({ ...brief, model: modelsOf(EBB_KEY, "another")[provider], prompt: question }),
  };
  const found = {};
  for (const [name, call] of Object.entries(calls)) {
    const error = await call().catch((error) => error);
    found[name] = APICallError.isInstance(error) ? [error.statusCode, error.isRetryable] : String(error);
  }
  return found;
}

const seen = {};
for (const [provider, model] of Object.entries(modelsOf(EBB_KEY))) {
  seen[provider] = {
    conversation: await conversation(model, provider),
    tools: await tools(model, provider, false),
    "streamed tools": await tools(model, provider, true),
    objects: await objects(model),
    errors: await errors(provider),
  };
}
const openai = createOpenAI({ baseURL: `${EBB_URL}/v1`, apiKey: EBB_KEY });
const completed = await generateText({ ...brief, model: openai.completion(EBB_MODEL), prompt: "The sea is" });
const { embedding } = await embed({ model: openai.embedding(EBB_MODEL), value: "sea", maxRetries: 0 });
seen.completion = completed.finishReason;
seen.length = Math.hypot(...embedding);
console.log(JSON.stringify(seen));
