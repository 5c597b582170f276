-- Folders of a tenant. A conversation is in at most one of them, and has tags: a JSON array of texts, or NULL.
CREATE TABLE folder(
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  UNIQUE (tenant, name));
ALTER TABLE conversation ADD COLUMN folder_id TEXT REFERENCES folder(id) ON DELETE SET NULL;
ALTER TABLE conversation ADD COLUMN tags TEXT;
CREATE INDEX conversation_in_folder ON conversation(folder_id) WHERE folder_id IS NOT NULL;

CREATE TRIGGER folder_added AFTER INSERT ON folder BEGIN
  INSERT INTO tenant_usage(tenant, nbytes) VALUES (new.tenant, 256 + length(CAST(new.name AS BLOB)))
    ON CONFLICT(tenant) DO UPDATE SET nbytes = nbytes + excluded.nbytes;
END;
CREATE TRIGGER folder_changed AFTER UPDATE OF name ON folder BEGIN
  UPDATE tenant_usage SET nbytes = nbytes + length(CAST(new.name AS BLOB)) - length(CAST(old.name AS BLOB))
  WHERE tenant = new.tenant;
END;
CREATE TRIGGER folder_taken AFTER DELETE ON folder BEGIN
  UPDATE tenant_usage SET nbytes = nbytes - (256 + length(CAST(old.name AS BLOB))) WHERE tenant = old.tenant;
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
    + coalesce(length(CAST(message.tool_use AS BLOB)), 0) AS nbytes
  FROM message
  UNION ALL
  SELECT message.conversation_id, 256 + coalesce(length(CAST(response.instructions AS BLOB)), 0)
    + coalesce(length(CAST(response.metadata AS BLOB)), 0)
    + coalesce(length(CAST(response.tools AS BLOB)), 0)
    + coalesce(length(CAST(response.tool_choice AS BLOB)), 0)
    + coalesce(length(CAST(response.text_format AS BLOB)), 0) AS nbytes
  FROM response JOIN message ON message.id = response.message_id;

CREATE TRIGGER conversation_tagged AFTER UPDATE OF tags ON conversation WHEN old.counted BEGIN
  UPDATE tenant_usage SET nbytes = nbytes
    + coalesce(length(CAST(new.tags AS BLOB)), 0) - coalesce(length(CAST(old.tags AS BLOB)), 0)
  WHERE tenant = new.tenant;
END;
DROP TRIGGER conversation_uncounted;
CREATE TRIGGER conversation_uncounted AFTER DELETE ON conversation WHEN old.counted BEGIN
  UPDATE tenant_usage SET nbytes = nbytes - (256 + coalesce(length(CAST(old.title AS BLOB)), 0)
    + coalesce(length(CAST(old.system_prompt AS BLOB)), 0)
    + coalesce(length(CAST(old.params AS BLOB)), 0)
    + coalesce(length(CAST(old.metadata AS BLOB)), 0)
    + coalesce(length(CAST(old.tags AS BLOB)), 0))
  WHERE tenant = old.tenant;
END;
