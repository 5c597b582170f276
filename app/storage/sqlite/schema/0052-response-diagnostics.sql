-- Cause for which the prompt of a response does not continue the one that its client named (JSON).
ALTER TABLE response ADD COLUMN diagnostics TEXT;
