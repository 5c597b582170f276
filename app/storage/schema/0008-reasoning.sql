-- What a model thought before it answered: apart from the text, never part of a later prompt.
ALTER TABLE message ADD COLUMN reasoning TEXT;
-- A view keeps the columns that its tables had when it was made.
DROP VIEW shown_message;
CREATE VIEW shown_message AS
  SELECT message.* FROM message JOIN conversation ON conversation.id = message.conversation_id
  WHERE message.deleted_at IS NULL AND conversation.deleted_at IS NULL;
-- Answers whose thoughts are no part of the next prompt: the tokens with which that begins, computed ahead of time, and
-- the one that was drawn behind them. With the message they lead to KV that is to be erased.
CREATE TABLE next_prefix(
  message_id TEXT PRIMARY KEY REFERENCES message(id) ON DELETE CASCADE,
  token_ids BLOB NOT NULL) WITHOUT ROWID;
