import { expect, it } from "vitest";

import { answerFields, wantedParams } from "../../../src/services/chat/answer_params";

const chat = { system_prompt: "Speak of rivers.", params: { temperature: 0.2 } };

it("starts from the settings of the chat", () => {
  expect(answerFields(chat)).toEqual({ temperature: 0.2, system_prompt: "Speak of rivers." });
  expect(answerFields({ system_prompt: null, params: null })).toEqual({ system_prompt: "" });
});

it("asks for a system prompt only where it is not that of the chat", () => {
  expect(wantedParams({ temperature: 1, system_prompt: "Speak of rivers. " }, chat)).toEqual({ temperature: 1 });
  expect(wantedParams({ system_prompt: "Speak of gulls." }, chat)).toEqual({ system_prompt: "Speak of gulls." });
  expect(wantedParams({ system_prompt: "" }, chat)).toEqual({ system_prompt: "" });
  expect(wantedParams({ system_prompt: "" }, { system_prompt: null, params: null })).toEqual({});
});
