-- Keys of the KV blocks that are still to be erased from the tiers (app/storage/owed_erasures.py).
CREATE TABLE owed_erasure(
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  server TEXT NOT NULL,
  block_keys BLOB NOT NULL,
  is_tried INTEGER NOT NULL DEFAULT 0,
  added_at REAL NOT NULL);
CREATE INDEX owed_erasure_of_server ON owed_erasure(server, number);
CREATE INDEX owed_erasure_age ON owed_erasure(added_at);
