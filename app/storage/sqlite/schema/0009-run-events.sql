-- What runs say is appended: what a thousand of them say in one transaction lies in a few pages, not in a page of each.
CREATE TABLE run_numbered(
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  message_id TEXT NOT NULL UNIQUE REFERENCES message(id) ON DELETE CASCADE,
  kv_fingerprint TEXT NOT NULL,
  prompt_ids BLOB NOT NULL,
  priority INTEGER NOT NULL,
  deadline REAL,
  epoch INTEGER NOT NULL,
  fruitless INTEGER NOT NULL);
INSERT INTO run_numbered(id, message_id, kv_fingerprint, prompt_ids, priority, deadline, epoch, fruitless)
  SELECT id, message_id, kv_fingerprint, prompt_ids, priority, deadline, epoch, fruitless FROM run ORDER BY id;
CREATE TABLE run_said(
  run INTEGER NOT NULL REFERENCES run_numbered(number) ON DELETE CASCADE,
  first_token INTEGER NOT NULL,
  token_ids BLOB NOT NULL,
  deltas TEXT NOT NULL);
INSERT INTO run_said SELECT number, first_token, token_ids, deltas
  FROM run_event JOIN run_numbered ON run_numbered.id = run_id ORDER BY run_id, first_token;
DROP TABLE run_event;
DROP TABLE run;
ALTER TABLE run_numbered RENAME TO run;
ALTER TABLE run_said RENAME TO run_event;
CREATE INDEX run_event_of_run ON run_event(run);
