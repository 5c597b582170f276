/**
 * What the server sends and takes, by its own description: `schema.d.ts` is made of GET /openapi.json, which says what
 * each field means. Times are Unix seconds, durations milliseconds.
 */
import type { components } from "./schema";

type Schemas = components["schemas"];

export type ErrorBody = Schemas["ErrorBody"];
export type KvReceipt = Schemas["KVReceipt"];
export type Usage = Schemas["Usage"];
export type Conversation = Schemas["Conversation"];
export type Message = Schemas["Message"];
export type ConversationWithMessages = Schemas["ConversationWithMessages"];
export type ConversationChanges = Schemas["ConversationFields"];
export type Outline = Schemas["Outline"];
export type ConversationTree = Schemas["ConversationTree"];
export type Login = Schemas["Login"];
export type Snippet = Schemas["Snippet"];
export type Found = Schemas["Found"];
export type Draft = Schemas["Draft"];
export type Imported = Schemas["Imported"];
export type PromptSide = Schemas["PromptSide"];
export type ReuseReport = Schemas["ReuseReport"];
export type ModelHealth = Schemas["ModelHealth"];
export type SamplingDefaults = Schemas["SamplingDefaults"];
export type Health = Schemas["Health"];
export type LiveSample = Schemas["LiveSample"];
export type ChatParams = Schemas["ChatParams"];

export type Role = Message["role"];
export type ThinkingMode = ModelHealth["thinking"][number];
export type Tier = keyof LiveSample["tiers"];

/** The lowest tier that the next turn of a chat has to turn to; null: nothing is kept of it. */
export type Place = Schemas["ChatPlace"]["place"];

/** A question on its way, whose id the page chose. Without `parent_id` it follows the conversation's head; null makes another first question. */
export type NewMessage = Schemas["NewMessage"] & { id: string };
