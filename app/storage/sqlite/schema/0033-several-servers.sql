-- The server that works on a run, the number of tokens that the run had when that server resumed it, and whether a client
-- wants its end. Servers write no row of their own here, since only one serves a file.
ALTER TABLE run ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE run ADD COLUMN resumed_with INTEGER;
ALTER TABLE run ADD COLUMN is_cancelled INTEGER NOT NULL DEFAULT 0;
CREATE TABLE server(
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  lease_until REAL NOT NULL,
  secret BLOB NOT NULL);
