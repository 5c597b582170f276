-- What clients that send whole conversations were answered: token ids that only what they send again can open.
CREATE TABLE answer(
  name BLOB PRIMARY KEY,
  sealed BLOB NOT NULL,
  used_at REAL NOT NULL);
CREATE INDEX answer_used ON answer(used_at, length(sealed));
