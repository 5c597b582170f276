-- What clients that send whole conversations were answered: token ids that only what they send again can open.
CREATE TABLE answer(
  name BLOB PRIMARY KEY,
  sealed BLOB NOT NULL,
  nbytes INTEGER NOT NULL,
  used_at REAL NOT NULL);
-- All that trimming looks at.
CREATE INDEX answer_used ON answer(used_at, nbytes);
