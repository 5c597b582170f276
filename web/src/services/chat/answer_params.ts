import type { AnswerParams, ChatParams } from "../api/types";

/** Settings of a chat, as far as an answer takes them. */
interface Settings {
  system_prompt: string | null;
  params: ChatParams | null;
}

/** Return the settings of an answer as fields show them. The system prompt is empty where there is none. */
export function answerFields({ system_prompt, params }: Settings): AnswerParams {
  return { ...params, system_prompt: system_prompt ?? "" };
}

/** Return what an answer is asked for with. Only a system prompt that is not the chat's is its own. */
export function wantedParams({ system_prompt, ...params }: AnswerParams, chat: Settings): AnswerParams {
  const typed = system_prompt?.trim() ?? "";
  return typed === (chat.system_prompt ?? "").trim() ? params : { ...params, system_prompt: typed };
}
