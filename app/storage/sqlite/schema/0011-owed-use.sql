-- Seconds until a tenant has paid for its use, counted from noted_at, and the limit under which it was used.
CREATE TABLE owed_use(
  tenant TEXT PRIMARY KEY,
  noted_at REAL NOT NULL,
  requests_owed REAL NOT NULL,
  requests_per_minute INTEGER,
  tokens_owed REAL NOT NULL,
  tokens_per_minute INTEGER) WITHOUT ROWID;
