/** What the server sends and takes, as its HTTP API names it. Times are Unix seconds, durations milliseconds. */

export type Role = "system" | "user" | "assistant";

export type MessageStatus = "in_progress" | "complete" | "incomplete" | "cancelled" | "failed";

export interface ErrorBody {
  message: string;
  type?: string | null;
  param?: string | null;
  code?: string | null;
}

/** Where the prompt's tokens came from. The four counts add up to the prompt. */
export interface KvReceipt {
  device: number;
  cpu: number;
  redis: number;
  computed: number;
  restore_ms: number | null;
  /** What computing the reused tokens would have taken, less the wait for them; null while that is not known. */
  saved_ms?: number | null;
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  kv?: KvReceipt | null;
  queue_ms?: number | null;
  ttft_ms?: number | null;
  total_ms?: number | null;
  tokens_per_second?: number | null;
}

/** slow: the model always thinks first. auto: where it finds it worth it. off: it answers at once. */
export type ThinkingMode = "slow" | "auto" | "off";

export interface ChatParams {
  thinking?: ThinkingMode;
  temperature?: number;
  top_p?: number;
  max_tokens?: number;
  [other: string]: unknown;
}

export interface Conversation {
  id: string;
  title: string | null;
  head_id: string | null;
  system_prompt: string | null;
  params: ChatParams | null;
  created_at: number;
  updated_at: number;
}

export interface Message {
  id: string;
  conversation_id: string;
  parent_id: string | null;
  role: Role;
  content: string;
  /** What the model thought before it answered. */
  reasoning?: string | null;
  status: MessageStatus;
  finish_reason: string | null;
  error: ErrorBody | string | null;
  usage: Usage | null;
  run_id: string | null;
  created_at: number;
  completed_at: number | null;
}

export interface ConversationWithMessages extends Conversation {
  messages: Message[];
}

export interface ConversationPage {
  data: Conversation[];
  next_cursor: string | null;
}

export interface ConversationChanges {
  title?: string;
  system_prompt?: string | null;
  params?: ChatParams | null;
}

/** Whether the server demands keys, and who is logged in. */
export interface Login {
  demands_keys: boolean;
  principal: { tenant: string; scope: "user" | "admin"; key_id: string | null } | null;
}

export interface TierHealth {
  used_bytes: number;
  capacity_bytes: number;
  state: string;
}

/** Who is not logged in learns the status alone. */
export interface Health {
  status: "starting" | "ok" | "stopping" | "failed";
  version: string | null;
  /** thinking: how the model can be told to think; empty where it does not. */
  model: { name: string; dtype: string; device: string; max_model_len: number; thinking?: ThinkingMode[] } | null;
  starting: string | null;
  tiers?: { device?: TierHealth; cpu?: TierHealth; redis?: TierHealth } | null;
}
