-- The words of the search index are found by app/storage/search_words.py, as in PostgreSQL: `segmented` returns them with
-- spaces between them. app/storage/upkeep.py removes the former table, search_text, and indexes what is there already.
DROP TRIGGER message_written;
DROP TRIGGER message_rewritten;
DROP TRIGGER message_removed;
DROP TRIGGER conversation_titled;
DROP TRIGGER conversation_retitled;
DROP TRIGGER conversation_removed;
CREATE VIRTUAL TABLE search_words USING fts5(tenant, title, content, tokenize = 'ascii', prefix = '2 3');
INSERT OR REPLACE INTO upkeep(task, below) SELECT 'index', coalesce(max(number), 0) + 1 FROM searchable;

CREATE TRIGGER message_written AFTER INSERT ON message WHEN new.status <> 'in_progress' BEGIN
  INSERT INTO searchable(conversation_id, message_id) VALUES (new.conversation_id, new.id);
  INSERT INTO search_words(rowid, tenant, content)
    SELECT number, 't' || hex(tenant), segmented(new.content)
    FROM searchable JOIN conversation ON conversation.id = conversation_id WHERE message_id = new.id;
END;
CREATE TRIGGER message_rewritten AFTER UPDATE OF content, status ON message WHEN new.status <> 'in_progress' BEGIN
  DELETE FROM search_words WHERE rowid IN (SELECT number FROM searchable WHERE message_id = new.id);
  INSERT OR IGNORE INTO searchable(conversation_id, message_id) VALUES (new.conversation_id, new.id);
  INSERT INTO search_words(rowid, tenant, content)
    SELECT number, 't' || hex(tenant), segmented(new.content)
    FROM searchable JOIN conversation ON conversation.id = conversation_id WHERE message_id = new.id;
END;
CREATE TRIGGER message_removed AFTER DELETE ON message BEGIN
  DELETE FROM search_words WHERE rowid IN (SELECT number FROM searchable WHERE message_id = old.id);
  DELETE FROM searchable WHERE message_id = old.id;
  INSERT OR IGNORE INTO upkeep(task) VALUES ('purge');
END;
CREATE TRIGGER conversation_titled AFTER INSERT ON conversation WHEN new.title IS NOT NULL BEGIN
  INSERT INTO searchable(conversation_id) VALUES (new.id);
  INSERT INTO search_words(rowid, tenant, title)
    SELECT number, 't' || hex(new.tenant), segmented(new.title)
    FROM searchable WHERE conversation_id = new.id AND message_id IS NULL;
END;
CREATE TRIGGER conversation_retitled AFTER UPDATE OF title ON conversation WHEN new.title IS NOT old.title BEGIN
  DELETE FROM search_words WHERE rowid IN
    (SELECT number FROM searchable WHERE conversation_id = new.id AND message_id IS NULL);
  DELETE FROM searchable WHERE conversation_id = new.id AND message_id IS NULL;
  INSERT INTO searchable(conversation_id) SELECT new.id WHERE new.title IS NOT NULL;
  INSERT INTO search_words(rowid, tenant, title)
    SELECT number, 't' || hex(new.tenant), segmented(new.title)
    FROM searchable WHERE conversation_id = new.id AND message_id IS NULL;
  INSERT OR IGNORE INTO upkeep(task) SELECT 'purge' WHERE old.title IS NOT NULL;
END;
CREATE TRIGGER conversation_removed AFTER DELETE ON conversation BEGIN
  DELETE FROM search_words WHERE rowid IN
    (SELECT number FROM searchable WHERE conversation_id = old.id AND message_id IS NULL);
  DELETE FROM searchable WHERE conversation_id = old.id AND message_id IS NULL;
  INSERT OR IGNORE INTO upkeep(task) VALUES ('purge');
END;
