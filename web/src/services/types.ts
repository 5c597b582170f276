/** What the server sends and takes, as its HTTP API names it. Times are Unix seconds, durations milliseconds. */

export type Role = "system" | "user" | "assistant";

export type MessageStatus = "in_progress" | "complete" | "incomplete" | "cancelled" | "failed";

/** The lowest tier that the next turn of a chat has to turn to; null: nothing is kept of it. */
export type Place = "device" | "cpu" | "redis" | null;

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
  /** Blocks from Redis, each taken after its MAC was checked. */
  blocks_verified?: number;
  phases_ms?: { queue: number; lookup: number; load: number; prefill: number; first_token: number } | null;
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
  top_k?: number;
  seed?: number;
  max_tokens?: number;
  [other: string]: unknown;
}

/** What holds where a chat leaves it open. */
export type SamplingDefaults = Pick<ChatParams, "temperature" | "top_p" | "top_k">;

export interface Conversation {
  id: string;
  title: string | null;
  head_id: string | null;
  system_prompt: string | null;
  params: ChatParams | null;
  created_at: number;
  updated_at: number;
  title_source?: "first_message" | "model" | "user" | null;
  pinned?: boolean;
  archived?: boolean;
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
  /** Messages that this one could be exchanged for, itself among them, oldest first. */
  sibling_ids?: string[];
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
  pinned?: boolean;
  archived?: boolean;
  system_prompt?: string | null;
  params?: ChatParams | null;
}

/** A question on its way. Without `parent_id` it follows the conversation's head; null makes another first question. */
export interface NewMessage {
  id: string;
  content: string;
  parent_id?: string | null;
}

/** A message with no more of what it says than its beginning. */
export interface Outline {
  id: string;
  parent_id: string | null;
  role: Role;
  status: MessageStatus;
  preview: string;
  created_at: number;
}

/** Every message of every branch, oldest first. */
export interface ConversationTree {
  head_id: string | null;
  messages: Outline[];
}

/** Whether the server demands keys, and who is logged in. */
export interface Login {
  demands_keys: boolean;
  principal: { tenant: string; scope: "user" | "admin"; key_id: string | null } | null;
}

/** Text around what was found; `matches` are its ranges there. */
export interface Snippet {
  text: string;
  matches: [number, number][];
}

export interface Found {
  conversations: { id: string; title: string; archived: boolean; updated_at: number; snippet: Snippet }[];
  messages: {
    message_id: string;
    role: Role;
    created_at: number;
    conversation: { id: string; title: string | null; archived: boolean };
    snippet: Snippet;
  }[];
  next_cursor: string | null;
}

export interface Draft {
  text: string;
  updated_at: number | null;
}

export interface Imported {
  imported: string[];
  skipped: string[];
}

/** One side of the place where two prompts part. token: null where it ended there. */
export interface Side {
  token: number | null;
  text: string;
  following: string;
}

/** Why not more of a prompt was reused. */
export interface ReuseReport {
  receipt: KvReceipt | null;
  reusable_tokens: number | null;
  reused_until: number | null;
  cause: string | null;
  explanation: string;
  diverges: { at: number; before: string; this: Side; other: Side | null } | null;
}

export interface TierHealth {
  used_bytes: number;
  capacity_bytes: number;
  state: string;
}

export interface ModelHealth {
  name: string;
  dtype: string;
  device: string;
  max_model_len: number;
  /** How the model can be told to think; empty where it does not. */
  thinking?: ThinkingMode[];
  sampling?: SamplingDefaults;
}

/** Who is not logged in learns the status alone. */
export interface Health {
  status: "starting" | "ok" | "stopping" | "failed";
  version: string | null;
  model: ModelHealth | null;
  starting: string | null;
  tiers?: { device?: TierHealth; cpu?: TierHealth; redis?: TierHealth } | null;
}

export type Tier = "device" | "cpu" | "redis";

/** One tier now. Rates are per second, null where none is known yet; a tier that is off has its state only. */
export interface TierSample {
  state: string;
  used_bytes?: number;
  /** 0: no limit. */
  capacity_bytes?: number;
  /** Of the last minute; null where nothing was asked. */
  hit_rate?: number | null;
  bytes_in_per_second?: number | null;
  bytes_out_per_second?: number | null;
  evictions_per_second?: number | null;
}

/** The whole server in one second; `at` is in Unix seconds. */
export interface LiveSample {
  at: number;
  requests: { running: number; waiting: number; preempted: number; loading: number; following: number };
  /** Requests in a step, on average; null where no step was made. */
  batch_size: number | null;
  generated_tokens_per_second: number | null;
  prompt_tokens_per_second: Record<Tier | "computed", number | null>;
  /** Of the way to Redis; null where there is none. */
  breaker: "closed" | "open" | "half-open" | null;
  tiers: Record<Tier, TierSample>;
}
