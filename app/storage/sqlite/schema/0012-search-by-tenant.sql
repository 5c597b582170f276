-- The index holds the tenant as a word of its own, so that a search reads what its tenant wrote and nothing else. The
-- text of one message is indexed up to 262,144 characters. What is there already is indexed by app/storage/upkeep.py.
DROP TRIGGER message_written;
DROP TRIGGER message_rewritten;
DROP TRIGGER message_removed;
DROP TRIGGER conversation_titled;
DROP TRIGGER conversation_retitled;
DROP TRIGGER conversation_removed;
DROP TABLE search_text;
CREATE VIRTUAL TABLE search_text USING fts5(
  tenant, title, content, tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3');

-- Work that is left for the time in which the server serves. below: rows of lower numbers are still to be done.
CREATE TABLE upkeep(task TEXT PRIMARY KEY, below INTEGER) WITHOUT ROWID;
INSERT INTO upkeep SELECT 'index', max(number) + 1 FROM searchable HAVING count(*) > 0;

CREATE TRIGGER message_written AFTER INSERT ON message WHEN new.status <> 'in_progress' BEGIN
  INSERT INTO searchable(conversation_id, message_id) VALUES (new.conversation_id, new.id);
  INSERT INTO search_text(rowid, tenant, content)
    SELECT number, 't' || hex(tenant), segmented(substr(new.content, 1, 262144))
    FROM searchable JOIN conversation ON conversation.id = conversation_id WHERE message_id = new.id;
END;
CREATE TRIGGER message_rewritten AFTER UPDATE OF content, status ON message WHEN new.status <> 'in_progress' BEGIN
  DELETE FROM search_text WHERE rowid IN (SELECT number FROM searchable WHERE message_id = new.id);
  INSERT OR IGNORE INTO searchable(conversation_id, message_id) VALUES (new.conversation_id, new.id);
  INSERT INTO search_text(rowid, tenant, content)
    SELECT number, 't' || hex(tenant), segmented(substr(new.content, 1, 262144))
    FROM searchable JOIN conversation ON conversation.id = conversation_id WHERE message_id = new.id;
END;
CREATE TRIGGER message_removed AFTER DELETE ON message BEGIN
  DELETE FROM search_text WHERE rowid IN (SELECT number FROM searchable WHERE message_id = old.id);
  DELETE FROM searchable WHERE message_id = old.id;
  INSERT OR IGNORE INTO upkeep(task) VALUES ('purge');
END;
CREATE TRIGGER conversation_titled AFTER INSERT ON conversation WHEN new.title IS NOT NULL BEGIN
  INSERT INTO searchable(conversation_id) VALUES (new.id);
  INSERT INTO search_text(rowid, tenant, title)
    SELECT number, 't' || hex(new.tenant), segmented(new.title)
    FROM searchable WHERE conversation_id = new.id AND message_id IS NULL;
END;
CREATE TRIGGER conversation_retitled AFTER UPDATE OF title ON conversation WHEN new.title IS NOT old.title BEGIN
  DELETE FROM search_text WHERE rowid IN
    (SELECT number FROM searchable WHERE conversation_id = new.id AND message_id IS NULL);
  DELETE FROM searchable WHERE conversation_id = new.id AND message_id IS NULL;
  INSERT INTO searchable(conversation_id) SELECT new.id WHERE new.title IS NOT NULL;
  INSERT INTO search_text(rowid, tenant, title)
    SELECT number, 't' || hex(new.tenant), segmented(new.title)
    FROM searchable WHERE conversation_id = new.id AND message_id IS NULL;
  INSERT OR IGNORE INTO upkeep(task) SELECT 'purge' WHERE old.title IS NOT NULL;
END;
CREATE TRIGGER conversation_removed AFTER DELETE ON conversation BEGIN
  DELETE FROM search_text WHERE rowid IN
    (SELECT number FROM searchable WHERE conversation_id = old.id AND message_id IS NULL);
  DELETE FROM searchable WHERE conversation_id = old.id AND message_id IS NULL;
  INSERT OR IGNORE INTO upkeep(task) VALUES ('purge');
END;

-- The list shows chats of the page alone: conversations of the API, of which there may be many more, are not read.
DROP INDEX conversation_list;
CREATE INDEX conversation_list ON conversation(tenant, archived, pinned DESC, updated_at DESC, id DESC)
  WHERE deleted_at IS NULL AND source = 'chat';
