CREATE TABLE conversation(
  id TEXT PRIMARY KEY,
  title TEXT,
  head_id TEXT,
  system_prompt TEXT,
  params TEXT NOT NULL DEFAULT '{}',
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL);
CREATE INDEX conversation_recent ON conversation(updated_at DESC);
CREATE TABLE message(
  id TEXT PRIMARY KEY,
  conversation_id TEXT NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,
  parent_id TEXT REFERENCES message(id) ON DELETE CASCADE,
  role TEXT NOT NULL CHECK(role IN ('system', 'user', 'assistant')),
  content TEXT NOT NULL,
  status TEXT NOT NULL CHECK(status IN ('in_progress', 'complete', 'incomplete', 'cancelled', 'failed')),
  finish_reason TEXT,
  error TEXT,
  usage TEXT,
  run_id TEXT UNIQUE,
  params TEXT,
  token_ids BLOB NOT NULL,
  prompt_key TEXT NOT NULL,
  starts_prompt INTEGER NOT NULL,
  created_at REAL NOT NULL,
  completed_at REAL);
CREATE INDEX message_tree ON message(conversation_id, parent_id, created_at);
CREATE INDEX message_parent ON message(parent_id);
CREATE INDEX message_unfinished ON message(status) WHERE status = 'in_progress';
