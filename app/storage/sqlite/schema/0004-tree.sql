ALTER TABLE conversation ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE conversation ADD COLUMN title_source TEXT CHECK(title_source IN ('first_message', 'model', 'user'));
ALTER TABLE conversation ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN deleted_at REAL;
ALTER TABLE conversation ADD COLUMN origin TEXT;
-- Nobody knows any more which titles people gave, so none of them is taken away.
UPDATE conversation SET title_source = 'user' WHERE title IS NOT NULL;
DROP INDEX conversation_recent;
CREATE INDEX conversation_list ON conversation(archived, pinned DESC, updated_at DESC, id DESC)
  WHERE deleted_at IS NULL;
CREATE INDEX conversation_origin ON conversation(origin) WHERE origin IS NOT NULL;
CREATE INDEX conversation_deleted ON conversation(deleted_at) WHERE deleted_at IS NOT NULL;

-- deleted_with: the message that was deleted, itself or above this one.
ALTER TABLE message ADD COLUMN deleted_at REAL;
ALTER TABLE message ADD COLUMN deleted_with TEXT;
CREATE INDEX message_deleted ON message(deleted_with) WHERE deleted_with IS NOT NULL;

-- What can be undeleted is in the tables; what people may see is in these.
CREATE VIEW shown_conversation AS SELECT * FROM conversation WHERE deleted_at IS NULL;
CREATE VIEW shown_message AS
  SELECT message.* FROM message JOIN conversation ON conversation.id = message.conversation_id
  WHERE message.deleted_at IS NULL AND conversation.deleted_at IS NULL;

-- No conversation: the empty page's.
CREATE TABLE draft(
  conversation_id TEXT REFERENCES conversation(id) ON DELETE CASCADE,
  text TEXT NOT NULL,
  updated_at REAL NOT NULL);
CREATE UNIQUE INDEX draft_place ON draft(coalesce(conversation_id, ''));

-- Titles (no message) and messages that do not change any more, each with its row of search_text.
CREATE TABLE searchable(
  number INTEGER PRIMARY KEY,
  conversation_id TEXT NOT NULL,
  message_id TEXT UNIQUE);
CREATE UNIQUE INDEX searchable_title ON searchable(conversation_id) WHERE message_id IS NULL;
CREATE VIRTUAL TABLE search_text USING fts5(
  title, content, tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3');

CREATE TRIGGER message_written AFTER INSERT ON message WHEN new.status <> 'in_progress' BEGIN
  INSERT INTO searchable(conversation_id, message_id) VALUES (new.conversation_id, new.id);
  INSERT INTO search_text(rowid, content)
    SELECT number, segmented(new.content) FROM searchable WHERE message_id = new.id;
END;
CREATE TRIGGER message_rewritten AFTER UPDATE OF content, status ON message WHEN new.status <> 'in_progress' BEGIN
  DELETE FROM search_text WHERE rowid IN (SELECT number FROM searchable WHERE message_id = new.id);
  INSERT OR IGNORE INTO searchable(conversation_id, message_id) VALUES (new.conversation_id, new.id);
  INSERT INTO search_text(rowid, content)
    SELECT number, segmented(new.content) FROM searchable WHERE message_id = new.id;
END;
CREATE TRIGGER message_removed AFTER DELETE ON message BEGIN
  DELETE FROM search_text WHERE rowid IN (SELECT number FROM searchable WHERE message_id = old.id);
  DELETE FROM searchable WHERE message_id = old.id;
END;
CREATE TRIGGER conversation_titled AFTER INSERT ON conversation WHEN new.title IS NOT NULL BEGIN
  INSERT INTO searchable(conversation_id) VALUES (new.id);
  INSERT INTO search_text(rowid, title)
    SELECT number, segmented(new.title) FROM searchable WHERE conversation_id = new.id AND message_id IS NULL;
END;
CREATE TRIGGER conversation_retitled AFTER UPDATE OF title ON conversation WHEN new.title IS NOT old.title BEGIN
  DELETE FROM search_text WHERE rowid IN
    (SELECT number FROM searchable WHERE conversation_id = new.id AND message_id IS NULL);
  DELETE FROM searchable WHERE conversation_id = new.id AND message_id IS NULL;
  INSERT INTO searchable(conversation_id) SELECT new.id WHERE new.title IS NOT NULL;
  INSERT INTO search_text(rowid, title)
    SELECT number, segmented(new.title) FROM searchable WHERE conversation_id = new.id AND message_id IS NULL;
END;
CREATE TRIGGER conversation_removed AFTER DELETE ON conversation BEGIN
  DELETE FROM search_text WHERE rowid IN
    (SELECT number FROM searchable WHERE conversation_id = old.id AND message_id IS NULL);
  DELETE FROM searchable WHERE conversation_id = old.id AND message_id IS NULL;
END;

INSERT INTO searchable(conversation_id)
  SELECT id FROM conversation WHERE title IS NOT NULL ORDER BY updated_at, id;
INSERT INTO searchable(conversation_id, message_id)
  SELECT conversation_id, id FROM message WHERE status <> 'in_progress' ORDER BY created_at, id;
INSERT INTO search_text(rowid, title)
  SELECT number, segmented(title) FROM searchable JOIN conversation ON conversation.id = conversation_id
  WHERE message_id IS NULL;
INSERT INTO search_text(rowid, content)
  SELECT number, segmented(content) FROM searchable JOIN message ON message.id = message_id;
