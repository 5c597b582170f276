-- The number of the last transaction of each server: shows whether one is stored whose COMMIT had no answer
-- (app/storage/postgres/doubt.py).
CREATE TABLE last_write(
  server TEXT PRIMARY KEY,
  number BIGINT NOT NULL,
  noted_at TIMESTAMPTZ NOT NULL DEFAULT now()) WITH (fillfactor = 50);
