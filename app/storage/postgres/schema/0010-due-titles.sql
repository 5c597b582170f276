-- First answers after which the model is to title their chat, and the server that does so (app/storage/due_titles.py).
CREATE TABLE due_title(
  message_id TEXT COLLATE "C" PRIMARY KEY REFERENCES message(id) ON DELETE CASCADE,
  owner TEXT COLLATE "C" NOT NULL,
  takeovers BIGINT NOT NULL DEFAULT 0);
