-- What a model thought before it answered: apart from the text, never part of a later prompt.
ALTER TABLE message ADD COLUMN reasoning TEXT;
-- Answers whose thoughts are no part of the next prompt: the tokens with which that begins, computed ahead of time, and
-- one more in place of what was drawn behind them. They lead to KV that is to be erased with the message.
CREATE TABLE next_prefix(
  message_id TEXT PRIMARY KEY REFERENCES message(id) ON DELETE CASCADE,
  token_ids BLOB NOT NULL) WITHOUT ROWID;
