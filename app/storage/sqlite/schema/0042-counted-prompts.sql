-- Triggers of the prompts of answers that an early form of script 0038 left out, and what they would have counted.
UPDATE tenant_usage SET nbytes = nbytes + coalesce((
  SELECT sum(256 + length(answer_prompt.token_ids)) FROM answer_prompt
  JOIN message ON message.id = answer_prompt.message_id
  JOIN conversation ON conversation.id = message.conversation_id
  WHERE conversation.counted AND conversation.tenant = tenant_usage.tenant), 0)
WHERE NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'answer_prompt_added');

DROP TRIGGER IF EXISTS answer_prompt_added;
CREATE TRIGGER answer_prompt_added AFTER INSERT ON answer_prompt BEGIN
  UPDATE tenant_usage SET nbytes = nbytes + 256 + length(new.token_ids)
  WHERE tenant = (
    SELECT tenant FROM conversation WHERE counted AND id = (SELECT conversation_id FROM message WHERE id = new.message_id));
END;
DROP TRIGGER IF EXISTS answer_prompt_taken;
CREATE TRIGGER answer_prompt_taken BEFORE DELETE ON answer_prompt BEGIN
  UPDATE tenant_usage SET nbytes = nbytes - (256 + length(old.token_ids))
  WHERE tenant = (
    SELECT tenant FROM conversation WHERE counted AND id = (SELECT conversation_id FROM message WHERE id = old.message_id));
END;
-- A response and a prompt go with their message, and before it.
DROP TRIGGER IF EXISTS message_leaves;
CREATE TRIGGER message_leaves BEFORE DELETE ON message BEGIN
  DELETE FROM response WHERE message_id = old.id;
  DELETE FROM answer_prompt WHERE message_id = old.id;
END;

DROP VIEW IF EXISTS stored_size;
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
  FROM answer_prompt JOIN message ON message.id = answer_prompt.message_id;
