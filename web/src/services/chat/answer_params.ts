import type { AnswerParams, ChatSettings } from "../api/types";

/** Return the settings of an answer as fields show them. The system prompt is empty where there is none. */
export function answerFields({ system_prompt, params }: ChatSettings): AnswerParams {
  return { ...params, system_prompt: system_prompt ?? "" };
}

/** Return what an answer is asked for with. Only a system prompt that is not the chat's is its own. */
export function wantedParams({ system_prompt, ...params }: AnswerParams, chat: ChatSettings): AnswerParams {
  const typed = system_prompt?.trim() ?? "";
  return typed === (chat.system_prompt ?? "").trim() ? params : { ...params, system_prompt: typed };
}
