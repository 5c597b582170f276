import type { ApiClient } from "../services/api/client";
import type { ChatSettings, Conversation, NewChat } from "../services/api/types";
import { newConversationId } from "../services/chat/ids";
import { beginningOf } from "../services/whole_characters";

/** Number of characters of a question from which its chat gets a title. */
const TITLED_CHARACTERS = 500;

/** What a chat is created with. */
export interface Begun {
  question: { id: string; content: string };
  settings: ChatSettings;
  /** Null outside of all folders. */
  folderId: string | null;
  temporary: boolean;
}

/** Creation of chats, each for its first question. */
export class NewChats {
  /** Id of the chat that was last to be created, its first question and its fields. The server may have it without having said so. */
  private begun = { id: "", by: "" };

  constructor(private readonly api: Pick<ApiClient, "createConversation">) {}

  /** Create the chat of a question. Repeating this with the same fields creates no other one. Rejects like the API. */
  create({ question, settings: { system_prompt, params }, folderId, temporary }: Begun): Promise<Conversation> {
    const fields: NewChat = {
      // Without a system prompt, the server would take the folder's.
      ...((system_prompt !== null || folderId !== null) && { system_prompt }),
      ...(folderId !== null && !temporary && { folder_id: folderId }),
      ...(params !== null && { params }),
      ...(temporary && { temporary: true }),
      first_message: beginningOf(question.content, TITLED_CHARACTERS),
    };
    const by = JSON.stringify([question.id, fields]);
    if (this.begun.by !== by) this.begun = { id: newConversationId(), by };
    return this.api.createConversation({ id: this.begun.id, ...fields });
  }
}
