-- A run that has not ended: what another process needs to go on with it, and what it has said.
CREATE TABLE run(
  id TEXT PRIMARY KEY,
  message_id TEXT NOT NULL UNIQUE REFERENCES message(id) ON DELETE CASCADE,
  kv_fingerprint TEXT NOT NULL,
  prompt_ids BLOB NOT NULL,
  priority INTEGER NOT NULL,
  deadline REAL,
  epoch INTEGER NOT NULL,
  fruitless INTEGER NOT NULL);
CREATE TABLE run_event(
  run_id TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  first_token INTEGER NOT NULL,
  token_ids BLOB NOT NULL,
  deltas TEXT NOT NULL,
  PRIMARY KEY(run_id, first_token)) WITHOUT ROWID;
