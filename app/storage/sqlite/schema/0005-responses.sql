ALTER TABLE conversation ADD COLUMN source TEXT NOT NULL DEFAULT 'chat' CHECK(source IN ('chat', 'api', 'response'));
ALTER TABLE conversation ADD COLUMN metadata TEXT NOT NULL DEFAULT '{}';
-- What the API of responses asked for, beside the answer itself.
CREATE TABLE response(
  message_id TEXT PRIMARY KEY REFERENCES message(id) ON DELETE CASCADE,
  model TEXT NOT NULL,
  background INTEGER NOT NULL,
  instructions TEXT,
  previous_response_id TEXT,
  conversation_id TEXT,
  max_output_tokens INTEGER,
  metadata TEXT NOT NULL) WITHOUT ROWID;
