-- Limits on bytes and on messages, and the bytes that each tenant stores: 256 for each row, its texts, its token ids.
ALTER TABLE tenant_limits ADD COLUMN stored_bytes INTEGER;
ALTER TABLE tenant_limits ADD COLUMN items_per_conversation INTEGER;
CREATE TABLE tenant_usage(tenant TEXT PRIMARY KEY, nbytes INTEGER NOT NULL) WITHOUT ROWID;

-- Conversations from before are counted by app/storage/upkeep.py, in batches.
ALTER TABLE conversation ADD COLUMN counted INTEGER NOT NULL DEFAULT 0;
CREATE INDEX conversation_uncounted ON conversation(id) WHERE NOT counted;
INSERT OR IGNORE INTO upkeep(task) SELECT 'count' FROM conversation LIMIT 1;

CREATE VIEW stored_size AS
  SELECT id AS conversation_id, 256 + coalesce(length(CAST(conversation.title AS BLOB)), 0)
    + coalesce(length(CAST(conversation.system_prompt AS BLOB)), 0)
    + coalesce(length(CAST(conversation.params AS BLOB)), 0)
    + coalesce(length(CAST(conversation.metadata AS BLOB)), 0) AS nbytes
  FROM conversation
  UNION ALL
  SELECT message.conversation_id, 256 + coalesce(length(CAST(message.content AS BLOB)), 0)
    + coalesce(length(CAST(message.reasoning AS BLOB)), 0)
    + coalesce(length(CAST(message.token_ids AS BLOB)), 0)
    + coalesce(length(CAST(message.params AS BLOB)), 0)
    + coalesce(length(CAST(message.usage AS BLOB)), 0)
    + coalesce(length(CAST(message.error AS BLOB)), 0)
    + coalesce(length(CAST(message.tool_use AS BLOB)), 0) AS nbytes
  FROM message
  UNION ALL
  SELECT message.conversation_id, 256 + coalesce(length(CAST(response.instructions AS BLOB)), 0)
    + coalesce(length(CAST(response.metadata AS BLOB)), 0)
    + coalesce(length(CAST(response.tools AS BLOB)), 0)
    + coalesce(length(CAST(response.tool_choice AS BLOB)), 0)
    + coalesce(length(CAST(response.text_format AS BLOB)), 0) AS nbytes
  FROM response JOIN message ON message.id = response.message_id;

-- Messages go before their conversation, which says whose they are.
CREATE TRIGGER conversation_emptied BEFORE DELETE ON conversation BEGIN
  DELETE FROM message WHERE conversation_id = old.id;
END;
CREATE TRIGGER conversation_counted AFTER UPDATE OF counted ON conversation WHEN new.counted AND NOT old.counted BEGIN
  INSERT INTO tenant_usage(tenant, nbytes)
    SELECT new.tenant, coalesce(sum(nbytes), 0) FROM stored_size WHERE conversation_id = new.id
    ON CONFLICT(tenant) DO UPDATE SET nbytes = nbytes + excluded.nbytes;
END;
CREATE TRIGGER conversation_added AFTER INSERT ON conversation BEGIN
  UPDATE conversation SET counted = 1 WHERE id = new.id;
END;
CREATE TRIGGER conversation_changed AFTER UPDATE OF title, system_prompt, params, metadata ON conversation
  WHEN old.counted BEGIN
  UPDATE tenant_usage SET nbytes = nbytes
    + coalesce(length(CAST(new.title AS BLOB)), 0)
    + coalesce(length(CAST(new.system_prompt AS BLOB)), 0)
    + coalesce(length(CAST(new.params AS BLOB)), 0)
    + coalesce(length(CAST(new.metadata AS BLOB)), 0)
    - (coalesce(length(CAST(old.title AS BLOB)), 0)
    + coalesce(length(CAST(old.system_prompt AS BLOB)), 0)
    + coalesce(length(CAST(old.params AS BLOB)), 0)
    + coalesce(length(CAST(old.metadata AS BLOB)), 0))
  WHERE tenant = new.tenant;
END;
CREATE TRIGGER conversation_uncounted AFTER DELETE ON conversation WHEN old.counted BEGIN
  UPDATE tenant_usage SET nbytes = nbytes - (256 + coalesce(length(CAST(old.title AS BLOB)), 0)
    + coalesce(length(CAST(old.system_prompt AS BLOB)), 0)
    + coalesce(length(CAST(old.params AS BLOB)), 0)
    + coalesce(length(CAST(old.metadata AS BLOB)), 0))
  WHERE tenant = old.tenant;
END;

CREATE TRIGGER message_added AFTER INSERT ON message BEGIN
  UPDATE tenant_usage SET nbytes = nbytes + 256 + coalesce(length(CAST(new.content AS BLOB)), 0)
    + coalesce(length(CAST(new.reasoning AS BLOB)), 0)
    + coalesce(length(CAST(new.token_ids AS BLOB)), 0)
    + coalesce(length(CAST(new.params AS BLOB)), 0)
    + coalesce(length(CAST(new.usage AS BLOB)), 0)
    + coalesce(length(CAST(new.error AS BLOB)), 0)
    + coalesce(length(CAST(new.tool_use AS BLOB)), 0)
  WHERE tenant = (
    SELECT tenant FROM conversation WHERE counted AND id = new.conversation_id);
END;
CREATE TRIGGER message_changed AFTER UPDATE OF content, reasoning, token_ids, params, usage, error, tool_use
  ON message BEGIN
  UPDATE tenant_usage SET nbytes = nbytes
    + coalesce(length(CAST(new.content AS BLOB)), 0)
    + coalesce(length(CAST(new.reasoning AS BLOB)), 0)
    + coalesce(length(CAST(new.token_ids AS BLOB)), 0)
    + coalesce(length(CAST(new.params AS BLOB)), 0)
    + coalesce(length(CAST(new.usage AS BLOB)), 0)
    + coalesce(length(CAST(new.error AS BLOB)), 0)
    + coalesce(length(CAST(new.tool_use AS BLOB)), 0)
    - (coalesce(length(CAST(old.content AS BLOB)), 0)
    + coalesce(length(CAST(old.reasoning AS BLOB)), 0)
    + coalesce(length(CAST(old.token_ids AS BLOB)), 0)
    + coalesce(length(CAST(old.params AS BLOB)), 0)
    + coalesce(length(CAST(old.usage AS BLOB)), 0)
    + coalesce(length(CAST(old.error AS BLOB)), 0)
    + coalesce(length(CAST(old.tool_use AS BLOB)), 0))
  WHERE tenant = (
    SELECT tenant FROM conversation WHERE counted AND id = new.conversation_id);
END;
CREATE TRIGGER message_taken AFTER DELETE ON message BEGIN
  UPDATE tenant_usage SET nbytes = nbytes - (256 + coalesce(length(CAST(old.content AS BLOB)), 0)
    + coalesce(length(CAST(old.reasoning AS BLOB)), 0)
    + coalesce(length(CAST(old.token_ids AS BLOB)), 0)
    + coalesce(length(CAST(old.params AS BLOB)), 0)
    + coalesce(length(CAST(old.usage AS BLOB)), 0)
    + coalesce(length(CAST(old.error AS BLOB)), 0)
    + coalesce(length(CAST(old.tool_use AS BLOB)), 0))
  WHERE tenant = (
    SELECT tenant FROM conversation WHERE counted AND id = old.conversation_id);
END;

CREATE TRIGGER response_added AFTER INSERT ON response BEGIN
  UPDATE tenant_usage SET nbytes = nbytes + 256 + coalesce(length(CAST(new.instructions AS BLOB)), 0)
    + coalesce(length(CAST(new.metadata AS BLOB)), 0)
    + coalesce(length(CAST(new.tools AS BLOB)), 0)
    + coalesce(length(CAST(new.tool_choice AS BLOB)), 0)
    + coalesce(length(CAST(new.text_format AS BLOB)), 0)
  WHERE tenant = (
    SELECT tenant FROM conversation WHERE counted AND id = (SELECT conversation_id FROM message WHERE id = new.message_id));
END;
CREATE TRIGGER response_taken BEFORE DELETE ON response BEGIN
  UPDATE tenant_usage SET nbytes = nbytes - (256 + coalesce(length(CAST(old.instructions AS BLOB)), 0)
    + coalesce(length(CAST(old.metadata AS BLOB)), 0)
    + coalesce(length(CAST(old.tools AS BLOB)), 0)
    + coalesce(length(CAST(old.tool_choice AS BLOB)), 0)
    + coalesce(length(CAST(old.text_format AS BLOB)), 0))
  WHERE tenant = (
    SELECT tenant FROM conversation WHERE counted AND id = (SELECT conversation_id FROM message WHERE id = old.message_id));
END;
-- A response goes with its message, and before it.
CREATE TRIGGER message_leaves BEFORE DELETE ON message BEGIN
  DELETE FROM response WHERE message_id = old.id;
END;
