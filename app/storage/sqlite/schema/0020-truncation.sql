-- Whether messages may have been left out of a response's prompt.
ALTER TABLE response ADD COLUMN truncation TEXT NOT NULL DEFAULT 'disabled' CHECK(truncation IN ('auto', 'disabled'));
