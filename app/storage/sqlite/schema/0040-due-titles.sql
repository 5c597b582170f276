-- First answers after which the model is to title their chat, and the server that does so (app/storage/due_titles.py).
CREATE TABLE due_title(
  message_id TEXT PRIMARY KEY REFERENCES message(id) ON DELETE CASCADE,
  owner TEXT NOT NULL,
  takeovers INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
