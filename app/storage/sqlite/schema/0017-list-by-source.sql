-- Conversations of each source are a list of their own: chats of the page, conversations of the API, responses.
DROP INDEX conversation_list;
CREATE INDEX conversation_list ON conversation(tenant, source, archived, pinned DESC, updated_at DESC, id DESC)
  WHERE deleted_at IS NULL;
