-- A person's opinion of an answer, and the reason given for it.
ALTER TABLE message ADD COLUMN rating TEXT CHECK (rating IN ('good', 'bad'));
ALTER TABLE message ADD COLUMN rating_note TEXT;

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
  FROM response JOIN message ON message.id = response.message_id;

DROP TRIGGER message_added;
CREATE TRIGGER message_added AFTER INSERT ON message BEGIN
  UPDATE tenant_usage SET nbytes = nbytes + 256 + coalesce(length(CAST(new.content AS BLOB)), 0)
    + coalesce(length(CAST(new.reasoning AS BLOB)), 0)
    + coalesce(length(CAST(new.token_ids AS BLOB)), 0)
    + coalesce(length(CAST(new.params AS BLOB)), 0)
    + coalesce(length(CAST(new.usage AS BLOB)), 0)
    + coalesce(length(CAST(new.error AS BLOB)), 0)
    + coalesce(length(CAST(new.tool_use AS BLOB)), 0)
    + coalesce(length(CAST(new.summary AS BLOB)), 0)
    + coalesce(length(CAST(new.rating_note AS BLOB)), 0)
  WHERE tenant = (
    SELECT tenant FROM conversation WHERE counted AND id = new.conversation_id);
END;
DROP TRIGGER message_changed;
CREATE TRIGGER message_changed AFTER UPDATE OF content, reasoning, token_ids, params, usage, error, tool_use,
  rating_note
  ON message BEGIN
  UPDATE tenant_usage SET nbytes = nbytes
    + coalesce(length(CAST(new.content AS BLOB)), 0)
    + coalesce(length(CAST(new.reasoning AS BLOB)), 0)
    + coalesce(length(CAST(new.token_ids AS BLOB)), 0)
    + coalesce(length(CAST(new.params AS BLOB)), 0)
    + coalesce(length(CAST(new.usage AS BLOB)), 0)
    + coalesce(length(CAST(new.error AS BLOB)), 0)
    + coalesce(length(CAST(new.tool_use AS BLOB)), 0)
    + coalesce(length(CAST(new.rating_note AS BLOB)), 0)
    - (coalesce(length(CAST(old.content AS BLOB)), 0)
    + coalesce(length(CAST(old.reasoning AS BLOB)), 0)
    + coalesce(length(CAST(old.token_ids AS BLOB)), 0)
    + coalesce(length(CAST(old.params AS BLOB)), 0)
    + coalesce(length(CAST(old.usage AS BLOB)), 0)
    + coalesce(length(CAST(old.error AS BLOB)), 0)
    + coalesce(length(CAST(old.tool_use AS BLOB)), 0)
    + coalesce(length(CAST(old.rating_note AS BLOB)), 0))
  WHERE tenant = (
    SELECT tenant FROM conversation WHERE counted AND id = new.conversation_id);
END;
DROP TRIGGER message_taken;
CREATE TRIGGER message_taken AFTER DELETE ON message BEGIN
  UPDATE tenant_usage SET nbytes = nbytes - (256 + coalesce(length(CAST(old.content AS BLOB)), 0)
    + coalesce(length(CAST(old.reasoning AS BLOB)), 0)
    + coalesce(length(CAST(old.token_ids AS BLOB)), 0)
    + coalesce(length(CAST(old.params AS BLOB)), 0)
    + coalesce(length(CAST(old.usage AS BLOB)), 0)
    + coalesce(length(CAST(old.error AS BLOB)), 0)
    + coalesce(length(CAST(old.tool_use AS BLOB)), 0)
    + coalesce(length(CAST(old.summary AS BLOB)), 0)
    + coalesce(length(CAST(old.rating_note AS BLOB)), 0))
  WHERE tenant = (
    SELECT tenant FROM conversation WHERE counted AND id = old.conversation_id);
END;
