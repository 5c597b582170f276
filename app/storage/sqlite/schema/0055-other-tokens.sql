-- Token ids of questions under further prompt keys than that of their row: another model answers them, too.
CREATE TABLE other_tokens(
  message_id TEXT NOT NULL REFERENCES message(id) ON DELETE CASCADE,
  prompt_key TEXT NOT NULL,
  starts_prompt INTEGER NOT NULL,
  token_ids BLOB NOT NULL,
  PRIMARY KEY(message_id, prompt_key));
CREATE INDEX other_start ON other_tokens(substr(token_ids, 1, 256)) WHERE starts_prompt;

CREATE TRIGGER other_tokens_added AFTER INSERT ON other_tokens BEGIN
  UPDATE tenant_usage SET nbytes = nbytes + 256 + length(new.token_ids)
  WHERE tenant = (
    SELECT tenant FROM conversation WHERE counted AND id = (SELECT conversation_id FROM message WHERE id = new.message_id));
END;
CREATE TRIGGER other_tokens_taken BEFORE DELETE ON other_tokens BEGIN
  UPDATE tenant_usage SET nbytes = nbytes - (256 + length(old.token_ids))
  WHERE tenant = (
    SELECT tenant FROM conversation WHERE counted AND id = (SELECT conversation_id FROM message WHERE id = old.message_id));
END;
-- A response, a prompt and further token ids go with their message, and before it.
DROP TRIGGER message_leaves;
CREATE TRIGGER message_leaves BEFORE DELETE ON message BEGIN
  DELETE FROM response WHERE message_id = old.id;
  DELETE FROM answer_prompt WHERE message_id = old.id;
  DELETE FROM other_tokens WHERE message_id = old.id;
END;

DROP VIEW stored_size;
CREATE VIEW stored_size AS
  SELECT id AS conversation_id, 256 + coalesce(length(CAST(conversation.title AS BLOB)), 0)
    + coalesce(length(CAST(conversation.system_prompt AS BLOB)), 0)
    + coalesce(length(CAST(conversation.params AS BLOB)), 0)
    + coalesce(length(CAST(conversation.metadata AS BLOB)), 0)
    + coalesce(length(CAST(conversation.tags AS BLOB)), 0) AS nbytes
  FROM conversation
  UNION ALL
  SELECT message.conversation_id, 256 + coalesce(length(CAST(message.content AS BLOB)), 0)
    + coalesce(length(CAST(message.reasoning AS BLOB)), 0)
    + coalesce(length(CAST(message.token_ids AS BLOB)), 0)
    + coalesce(length(CAST(message.params AS BLOB)), 0)
    + coalesce(length(CAST(message.usage AS BLOB)), 0)
    + coalesce(length(CAST(message.error AS BLOB)), 0)
    + coalesce(length(CAST(message.tool_use AS BLOB)), 0)
    + coalesce(length(CAST(message.summary AS BLOB)), 0)
    + coalesce(length(CAST(message.rating_note AS BLOB)), 0) AS nbytes
  FROM message
  UNION ALL
  SELECT message.conversation_id, 256 + coalesce(length(CAST(response.instructions AS BLOB)), 0)
    + coalesce(length(CAST(response.metadata AS BLOB)), 0)
    + coalesce(length(CAST(response.tools AS BLOB)), 0)
    + coalesce(length(CAST(response.tool_choice AS BLOB)), 0)
    + coalesce(length(CAST(response.text_format AS BLOB)), 0) AS nbytes
  FROM response JOIN message ON message.id = response.message_id
  UNION ALL
  SELECT message.conversation_id, 256 + length(answer_prompt.token_ids) AS nbytes
  FROM answer_prompt JOIN message ON message.id = answer_prompt.message_id
  UNION ALL
  SELECT message.conversation_id, 256 + length(other_tokens.token_ids) AS nbytes
  FROM other_tokens JOIN message ON message.id = other_tokens.message_id;
