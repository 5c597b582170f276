/**
 * Types of the server's API. `schema.d.ts` is generated from GET /openapi.json, which documents each field. Times are
 * Unix seconds, durations milliseconds.
 */
import type { components, paths } from "./schema";

type Schemas = components["schemas"];

/** Id of a tier of the KV cache. The schema names those that every server has; a server may have more. */
export type TierId = string;
/** Figures by the id of their tier. */
type ByTier<T> = Readonly<Record<TierId, T>>;

export type ErrorBody = Schemas["ErrorBody"];
export type KvReceipt = Schemas["KVReceipt"];
export type Usage = Schemas["Usage"];
export type PromptProgress = Pick<Schemas["RunProgress"], "state" | "total" | "done" | "computed" | "seconds_left"> & { reused: ByTier<number> };
/** The chats that a list has; without fields, all outside the archive. */
export type ChatFilter = Pick<NonNullable<paths["/api/conversations"]["get"]["parameters"]["query"]>, "archived" | "pinned" | "shown_in" | "tag">;
export type ChatPage = Schemas["ConversationPage"];
export type Conversation = Schemas["Conversation"];
export type PromisedChat = Schemas["PromisedChat"];
export type DeletedConversation = Schemas["DeletedConversation"];
export type DeletedConversationPage = Schemas["DeletedConversationPage"];
export type DeletedMessage = Schemas["DeletedMessage"];
export type DeletedMessagePage = Schemas["DeletedMessagePage"];
export type Message = Schemas["Message"];
/** The part of a chat's messages to read. */
export type MessagePage = NonNullable<paths["/api/conversations/{id}"]["get"]["parameters"]["query"]>;
export type ConversationWithMessages = Schemas["ConversationWithMessages"];
/** A message of a chat that has a text, and how often. */
export type FoundOnPath = Schemas["FoundOnPath"];
export type ConversationChanges = Schemas["ConversationFields"];
export type NewChat = Schemas["NewChat"];
export type Outline = Schemas["Outline"];
export type ConversationTree = Schemas["ConversationTree"];
export type Login = Schemas["Login"];
/** A feature that groups allow. */
export type Right = Schemas["Principal"]["rights"][number];
export type TokenPrices = Schemas["TokenPrices"];
export type Account = Schemas["Account"];
export type AccountUsage = Schemas["AccountUsage"];
export type ApiKey = Schemas["ApiKey"];
export type KeyPage = Schemas["ApiKeyPage"];
export type NewApiKey = Schemas["NewApiKey"];
export type PersonSession = Schemas["Session"];
export type SecondFactor = Schemas["SecondFactor"];
export type Person = Schemas["AdminPerson"];
export type NewPerson = Schemas["NewAdminPerson"];
export type PersonPage = Schemas["AdminPersonPage"];
export type Tenant = Schemas["Tenant"];
export type TenantPage = Schemas["TenantPage"];
export type TenantUsage = Schemas["TenantUsage"];
export type Limits = Schemas["Limits"];
export type Snippet = Schemas["Snippet"];
export type SearchResponse = Schemas["Found"];
export type SearchParameters = Omit<paths["/api/search"]["get"]["parameters"]["query"], "q">;
export type Draft = Schemas["Draft"];
export type Preset = Schemas["Preset"];
export type PresetFields = Schemas["PresetFields"];
export type SavedPrompt = Schemas["SavedPrompt"];
export type KeptFile = Schemas["KeptFile"];
export type KeptFileText = Schemas["KeptFileText"];
export type Share = Schemas["Share"];
export type NewShare = Schemas["NewShare"];
export type Folder = Schemas["Folder"];
export type Folders = Schemas["Folders"];
export type FolderFields = Schemas["FolderFields"];
export type BulkChanges = Omit<Schemas["BulkFields"], "conversation_ids">;
export type BulkResult = Schemas["BulkResult"];
export type Imported = Schemas["Imported"];
export type PromptSize = Schemas["PromptSize"];
export type ImportPreview = Schemas["ImportPreview"];
export type PreviewedConversation = Schemas["PreviewedConversation"];
export type PromptSide = Schemas["PromptSide"];
export type ReuseReport = Schemas["ReuseReport"];
export type ChatModel = Schemas["ChatModel"];
export type ModelProgress = Schemas["ModelProgress"];
export type ModelHealth = Schemas["ModelHealth"];
export type SamplingDefaults = Schemas["SamplingDefaults"];
export type Health = Omit<Schemas["Health"], "tiers"> & { tiers: ByTier<Schemas["TierHealth"]> | null };
export type LiveSample = Omit<Schemas["LiveSample"], "tiers" | "prompt_tokens_per_second"> & {
  tiers: ByTier<Schemas["TierSample"]>;
  prompt_tokens_per_second: ByTier<number | null>;
};
export type ChatParams = Schemas["ChatParams"];
/** Settings that a person gives a chat; null for the server's defaults. */
export interface ChatSettings {
  system_prompt: string | null;
  params: ChatParams | null;
}
/** Settings of one answer. */
export type AnswerParams = Schemas["AnswerParams"];
/**
 * How to regenerate an answer.
 * params: settings for this answer only, before those of the chat.
 * merge: answers to the same question to merge.
 * model: the model that answers, of a server that has several.
 */
export type Retry = { params?: AnswerParams; merge?: string[]; model?: string };

export type Role = Message["role"];
export type Rating = NonNullable<Message["rating"]>;
export type ThinkingMode = ModelHealth["thinking"][number];

/** The lowest tier that the next turn of a chat loads from; null if no KV of the chat is kept. */
export type ChatTier = TierId | null;

/**
 * A question with an id that the page chose. Without `parent_id` it follows the conversation's head; null makes it
 * another first question.
 */
export type NewMessage = Schemas["NewMessage"] & { id: string };
