-- Conversations, or branches of one (message_id), that are being removed for good, in batches: nothing restores them.
CREATE TABLE removal(
  conversation_id TEXT NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,
  message_id TEXT REFERENCES message(id) ON DELETE CASCADE);
CREATE UNIQUE INDEX removal_of ON removal(conversation_id, coalesce(message_id, ''));
CREATE INDEX removal_branch ON removal(message_id) WHERE message_id IS NOT NULL;

-- Conversations of an import that is being written: hidden until all of the file is there.
CREATE TABLE staged(
  conversation_id TEXT PRIMARY KEY REFERENCES conversation(id) ON DELETE CASCADE,
  import_id TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX staged_import ON staged(import_id);
